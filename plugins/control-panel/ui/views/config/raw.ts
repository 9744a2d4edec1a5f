/** The file as text: comments stay, secrets are sentinels. */
import { html, nothing, type TemplateResult } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { live } from "lit/directives/live.js";
import { t } from "../../core/text.ts";
import { keyLines } from "./data.ts";
import { issueList } from "./review.ts";
import type { Issue } from "./state.ts";

export interface RawOptions {
  readonly text: string;
  readonly issues: readonly Issue[];
  readonly mayWrite: boolean;
  input(text: string): void;
}

export function createRaw(): (options: RawOptions) => TemplateResult {
  const gutter = createRef<HTMLElement>();
  const area = createRef<HTMLTextAreaElement>();
  return ({ text, issues, mayWrite, input }) => {
    const lines = issues.length > 0 ? keyLines(text) : new Map<string, number>();
    const wrong = new Set(issues.map((issue) => lineOf(lines, issue)));
    const count = text.split("\n").length;
    return html`<p class="quiet">${t.config.rawHint}</p>
      ${
        issues.length > 0
          ? html`<div class="notice bad" role="alert">
              <div>${issueList(issues, (path) => lineOf(lines, { path, message: "" }))}</div>
            </div>`
          : nothing
      }
      <div class="cfg-raw">
        <div class="numbers" aria-hidden="true" ${ref(gutter)}>
          ${Array.from({ length: count }, (_none, index) => html`<div class=${wrong.has(index + 1) ? "wrong" : ""}>${index + 1}</div>`)}
        </div>
        <textarea
          ${ref(area)}
          class="mono"
          aria-label=${t.config.rawLabel}
          wrap="off"
          spellcheck="false"
          autocapitalize="off"
          ?readonly=${!mayWrite}
          .value=${live(text)}
          @input=${(event: Event) => input((event.target as HTMLTextAreaElement).value)}
          @scroll=${() => {
            if (gutter.value && area.value) gutter.value.scrollTop = area.value.scrollTop;
          }}
        ></textarea>
      </div>`;
  };
}

/** The line of the key, or of the nearest one around it. */
function lineOf(lines: ReadonlyMap<string, number>, { path }: Issue): number | undefined {
  for (let at = path; at !== ""; at = at.replace(/(?:^|\.)[^.[\]]+$|\[\d+\]$/, "")) {
    const line = lines.get(at);
    if (line !== undefined) return line;
    if (!/(?:^|\.)[^.[\]]+$|\[\d+\]$/.test(at)) return undefined;
  }
  return undefined;
}
