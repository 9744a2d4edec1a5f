/** A command for a terminal, with a button that copies it. */
import { html, type TemplateResult } from "lit";
import { Copy } from "lucide";
import { t } from "../core/text.ts";
import { icon } from "./icon.ts";
import { toast } from "./toast.ts";

export function command(text: string): TemplateResult {
  return html`<div class="command">
    <code>${text}</code>
    <button class="plain" aria-label=${t.common.copy} title=${t.common.copy} @click=${() => copy(text)}>
      ${icon(Copy)}
    </button>
  </div>`;
}

/** Copies a text, and says so. Pages over plain HTTP have no clipboard. */
export function copy(text: string): void {
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  const failed = () => toast(t.common.notCopied, "bad");
  if (clipboard) clipboard.writeText(text).then(() => toast(t.common.copied, "good"), failed);
  else failed();
}
