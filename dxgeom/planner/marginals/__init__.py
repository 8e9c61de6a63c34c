"""Plans of whole tables of counts over universes of any size: chosen in closed form, released without a histogram."""
