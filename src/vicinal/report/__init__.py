"""A comparison as one page of HTML that needs nothing else.

Learning and measuring are done elsewhere; the page is made of what they give.
"""

from vicinal.report.page import page
from vicinal.report.writing import write

__all__ = ["page", "write"]
