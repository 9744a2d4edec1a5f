/** Shows what a write would change, writes it, and says what the gateway answered. */
import type { ResultOf } from "@svc/sdk";
import type { config } from "@svc/sdk/config";
import { isGatewayError } from "@svc/sdk/errors";
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../../core/text.ts";
import { openDialog } from "../../parts/dialog.ts";
import { failed } from "../../parts/show.ts";
import type { Change, Line } from "./data.ts";
import { dataPath, type Field, fieldAt, type Hints } from "./schema.ts";
import { shown } from "./shown.ts";
import type { Issue } from "./state.ts";

export type Written = ResultOf<typeof config.patch>;

export interface ReviewOptions {
  readonly content: TemplateResult;
  readonly needsRestart: boolean;
  readonly write: () => Promise<Written>;
  /** Called after a refusal. @returns whether the dialog makes no sense any more: the file is another one now */
  readonly refused: (issues: readonly Issue[]) => Promise<boolean>;
}

/** @returns the gateway's answer; `undefined`: cancelled, or refused */
export function review({ content, needsRestart, write, refused }: ReviewOptions): Promise<Written | undefined> {
  let error: unknown;
  let isBusy = false;
  let waitsUntil = 0;
  return openDialog<Written>({
    title: t.config.reviewTitle,
    isWide: true,
    body: ({ close, redraw }) => {
      const seconds = Math.ceil((waitsUntil - Date.now()) / 1_000);
      const tick = () => {
        redraw();
        if (Date.now() < waitsUntil) setTimeout(tick, 1_000);
      };
      const apply = async () => {
        isBusy = true;
        error = undefined;
        redraw();
        try {
          return close(await write());
        } catch (failure) {
          error = failure;
          if (await refused(issuesOf(failure))) return close();
          waitsUntil = Date.now() + (isGatewayError(failure) ? (failure.retryAfterMs ?? 0) : 0);
        }
        isBusy = false;
        tick();
      };
      return html`<div class="content">
          ${content}
          <p class="quiet">${needsRestart ? t.config.willRestart : t.config.atOnce}</p>
          ${error === undefined ? nothing : failed(error)} ${issueList(issuesOf(error))}
        </div>
        <footer>
          <button @click=${() => close()}>${t.config.back}</button>
          <button class="primary" ?disabled=${isBusy || seconds > 0} @click=${apply}>
            ${seconds > 0 ? t.config.applyIn(seconds) : t.config.apply}
          </button>
        </footer>`;
    },
  });
}

/** Problems that the gateway named. */
function issuesOf(error: unknown): readonly Issue[] {
  const { issues } = Object(isGatewayError(error) ? error.details : undefined) as { readonly issues?: unknown };
  return Array.isArray(issues) ? (issues as readonly Issue[]) : [];
}

/** @param place draws where a problem is. Default: its path */
export function issueList(
  issues: readonly Issue[],
  place = (path: string) => html`<code>${path}</code>`,
): TemplateResult | typeof nothing {
  if (issues.length === 0) return nothing;
  return html`<ul class="cfg-issues">
    ${issues.map(({ path, message }) => html`<li class="break">${path === "" ? nothing : place(path)} ${message}</li>`)}
  </ul>`;
}

/** Changed keys with the values before and after. */
export function changeTable(changes: readonly Change[], root: Field, hints: Hints): TemplateResult {
  return html`<ul class="cfg-changes">
    ${changes.map(({ path, before, after }) => {
      const field = fieldAt(root, path, hints);
      return html`<li>
        <div class="line"><strong>${field.label}</strong><code class="quiet break">${dataPath(field)}</code></div>
        <del class="break">${shown(before, field, hints)}</del>
        <ins class="break">${afterText(before, after, field, hints)}</ins>
      </li>`;
    })}
  </ul>`;
}

/** A new secret looks like the old one, so it is named. */
function afterText(before: unknown, after: unknown, field: Field, hints: Hints): string {
  const [was, is] = [shown(before, field, hints), shown(after, field, hints)];
  return was === is ? t.config.newSecret(is) : is;
}

const MARKS = { same: " ", removed: "−", added: "+" } as const;
/** Unchanged lines shown around a change. */
const AROUND = 3;

/** Changed lines of a text with some around them. */
export function lineTable(lines: readonly Line[]): TemplateResult {
  const near = new Set(
    lines.flatMap(({ kind }, index) =>
      kind === "same" ? [] : Array.from({ length: 2 * AROUND + 1 }, (_none, k) => index + k - AROUND),
    ),
  );
  const kept = lines.map((line, index) => ({ ...line, index })).filter(({ index }) => near.has(index));
  return html`<div class="code cfg-lines" tabindex="0" role="region" aria-label=${t.config.reviewTitle}>
    ${kept.map(({ kind, text, number, index }, at) => {
      const isGap = at > 0 && kept[at - 1]?.index !== index - 1;
      return html`${isGap ? html`<div class="gap">⋯</div>` : nothing}
        <div class=${kind}>
          <span class="quiet">${number}</span><span>${MARKS[kind]}</span><span class="break">${text}</span>
        </div>`;
    })}
  </div>`;
}
