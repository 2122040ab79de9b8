"""The sockets of one web process: what they asked for, what they missed, what they are to be sent.

Delivery only: rights and texts come from the services, bytes leave through socialsite.web.socket_writer.
"""
