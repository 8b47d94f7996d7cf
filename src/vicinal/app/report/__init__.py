"""A comparison as one page of HTML that needs nothing else.

Learning and measuring are done elsewhere; the page is made of what they give.
"""

from vicinal.app.report.page import page

__all__ = ["page"]
