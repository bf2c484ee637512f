"""Results and notes to one document: self-contained HTML, Markdown, JSON, and a page of plain text."""

from topo.report.assemble import Report, make_report

__all__ = ["Report", "make_report"]
