/** The file as text: comments stay, secrets are sentinels. */
import { html, nothing, type TemplateResult } from "lit";
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

export function drawRaw({ text, issues, mayWrite, input }: RawOptions): TemplateResult {
  const lines = issues.length > 0 ? keyLines(text) : new Map<string, number>();
  const wrong = new Set(issues.map(({ path }) => lineOf(lines, path)));
  const place = (path: string) => {
    const line = lineOf(lines, path);
    return html`${line === undefined ? nothing : html`<span class="quiet">${t.config.line(line)}</span>`}
      <code>${path}</code>`;
  };
  return html`<p class="quiet">${t.config.rawHint}</p>
    ${
      issues.length > 0
        ? html`<div class="notice bad" role="alert"><div>${issueList(issues, place)}</div></div>`
        : nothing
    }
    <div class="cfg-raw">
      <div class="numbers" aria-hidden="true">
        ${text.split("\n").map((_line, index) => html`<div class=${wrong.has(index + 1) ? "wrong" : ""}>${index + 1}</div>`)}
      </div>
      <textarea
        class="mono"
        aria-label=${t.config.rawLabel}
        wrap="off"
        spellcheck="false"
        autocapitalize="off"
        ?readonly=${!mayWrite}
        .value=${live(text)}
        @input=${(event: Event) => input((event.target as HTMLTextAreaElement).value)}
        @scroll=${(event: Event) => {
          const area = event.target as HTMLTextAreaElement;
          if (area.previousElementSibling) area.previousElementSibling.scrollTop = area.scrollTop;
        }}
      ></textarea>
    </div>`;
}

/** The line of the key, or of the nearest one around it. */
function lineOf(lines: ReadonlyMap<string, number>, path: string): number | undefined {
  const around = path.replace(/(?:^|\.)[^.[\]]+$|\[\d+\]$/, "");
  return lines.get(path) ?? (around === path ? undefined : lineOf(lines, around));
}
