/** The field to search in a list. */
import { html, type TemplateResult } from "lit";
import { t } from "../core/text.ts";

/** @param typed called with each new text */
export function searchField(
  text: string,
  typed: (text: string) => void,
  label: string = t.common.search,
): TemplateResult {
  return html`<input
    type="search"
    aria-label=${label}
    placeholder=${label}
    .value=${text}
    @input=${(event: Event) => typed((event.target as HTMLInputElement).value)}
  />`;
}
