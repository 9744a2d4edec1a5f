/** What is known about one row, beside its list; on a phone it covers the list. */
import { html, type TemplateResult } from "lit";
import { X } from "lucide";
import { t } from "../core/text.ts";
import { icon } from "./icon.ts";
import "./detail.css";

export interface Detail {
  readonly title: string;
  readonly close: () => void;
  /** Buttons below the title. */
  readonly actions: TemplateResult;
  readonly body: TemplateResult;
}

export function detail({ title, close, actions, body }: Detail): TemplateResult {
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
  };
  return html`<aside class="detail" aria-label=${title} @keydown=${onKey}>
    <header>
      <h2 class="break">${title}</h2>
      <button class="plain" aria-label=${t.common.close} title=${t.common.close} @click=${close}>${icon(X)}</button>
    </header>
    <div class="detail-body">
      <div class="actions">${actions}</div>
      ${body}
    </div>
  </aside>`;
}
