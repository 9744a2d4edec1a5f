/** A text of any length in a list: its beginning, and the rest on demand. */
import { html, type TemplateResult } from "lit";

/** Characters that a list shows at once. */
const SHOWN = 240;

export function folded(text: string): TemplateResult {
  if (text.length <= SHOWN) return html`<span class="text">${text}</span>`;
  return html`<details class="folded">
    <summary>${text.slice(0, SHOWN).replace(/\s+\S*$/, "")} …</summary>
    <span class="text">${text}</span>
  </details>`;
}
