"""The nouns of saycart: what an order, a menu, a cart and a review are. Imports nothing of ours."""
