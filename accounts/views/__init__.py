"""The account pages. A view reads its form, calls one service and answers, in HTML or JSON."""
