/** All texts of the panel in German. */
import { en, type Texts } from "./en.ts";

export const de: Texts = { ...en };
