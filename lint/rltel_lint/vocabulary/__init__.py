"""What names mean: shipped profiles and a project's own table, in one form."""

from rltel_lint.vocabulary.load import VocabularyError, load_vocabulary, profile_names
from rltel_lint.vocabulary.model import SpanHelper, Vocabulary

__all__ = ["SpanHelper", "Vocabulary", "VocabularyError", "load_vocabulary", "profile_names"]
