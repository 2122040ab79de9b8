"""The container, which builds the services of one event loop from a store, in the order in which they need each other.

A request passes view or consumer -> service -> repository -> store -> node. Only code outside the apps imports this
package; views get a service by its class: `request.services[Class]`.
"""

from socialsite.container.services import Services

__all__ = ["Services"]
