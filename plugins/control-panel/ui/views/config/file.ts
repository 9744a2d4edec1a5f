/** The file that the view shows: its state, and where other changes of it meet those of people. */
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { badge } from "../../parts/show.ts";
import { duration } from "../../parts/time.ts";
import { type Conflict, withValue } from "./data.ts";
import { issueList } from "./review.ts";
import { dataPath, type Field, fieldAt, type Hints } from "./schema.ts";
import { shown } from "./shown.ts";
import { isDirty, type Snapshot, type State } from "./state.ts";

/** Where it is, whether the gateway can use it, and what waits for a restart. */
export function drawFile(state: State, snapshot: Snapshot, mayWrite: boolean, redraw: () => void): TemplateResult {
  const { path, exists, valid, issues, warnings, running } = snapshot;
  const { restart, refused: rejected } = running ?? {};
  const isPending = restart !== undefined && restart.paths.length > 0;
  return html`<div class="line cfg-file">
      <code class="break">${path}</code>
      ${exists ? (valid ? badge(t.config.valid, "good") : badge(t.config.invalid, "bad")) : badge(t.config.noFile)}
      ${mayWrite ? nothing : badge(t.config.readOnly)}
    </div>
    ${
      valid
        ? nothing
        : html`<div class="notice bad" role="alert">
            <div>
              <p>${t.config.invalidText}</p>
              ${issueList(issues)} ${isDirty(state) ? html`<p>${t.config.draftKept}</p>` : nothing}
              ${command("svc doctor --fix")} ${command("svc config validate")}
            </div>
          </div>`
    }
    ${
      valid && rejected
        ? html`<div class="notice bad" role="alert">
            <div>
              <p>${t.config.notUsed}</p>
              <p>${rejected.reason}</p>
            </div>
          </div>`
        : nothing
    }
    ${
      warnings.length > 0
        ? html`<details class="notice warning">
            <summary>${t.config.warnings(warnings.length)}</summary>
            ${issueList(warnings)}
          </details>`
        : nothing
    }
    ${
      isPending
        ? html`<div class="notice warning" role="status">
            <div>
              <p>
                ${restart.delayMs === undefined ? t.config.restartPending : t.config.restartIn(duration(restart.delayMs))}
              </p>
              <p><code class="break">${restart.paths.join(", ")}</code></p>
              ${state.byHand === undefined ? nothing : html`<p>${state.byHand}</p>`}
              ${restart.delayMs === undefined ? command("svc gateway restart") : nothing}
            </div>
          </div>`
        : nothing
    }
    ${
      state.isRebased && isDirty(state)
        ? html`<div class="notice warning" role="status">
            <div>${state.raw === undefined ? t.config.rebased : t.config.rawRebased}</div>
            <button @click=${() => ((state.isRebased = false), redraw())}>${t.common.close}</button>
          </div>`
        : nothing
    }`;
}

/** Keys that people and the file both changed: people choose. */
export function drawConflicts(
  state: State,
  root: Field,
  hints: Hints,
  redraw: () => void,
): TemplateResult | typeof nothing {
  if (state.conflicts.length === 0) return nothing;
  const decide = (conflict: Conflict, value: unknown) => {
    state.draft = withValue(state.draft, conflict.path, value);
    state.conflicts = state.conflicts.filter((one) => one !== conflict);
    state.typed.clear();
    redraw();
  };
  return html`<section class="card" aria-label=${t.config.conflicts}>
    <h2>${t.config.conflicts}</h2>
    <p class="quiet">${t.config.conflictsText}</p>
    ${state.conflicts.map((conflict) => {
      const field = fieldAt(root, conflict.path, hints);
      const { mine, theirs, before } = conflict;
      return html`<div class="cfg-conflict">
        <div class="line"><strong>${field.label}</strong><code class="quiet break">${dataPath(field)}</code></div>
        <p class="quiet break">${t.config.was(shown(before, field, hints))}</p>
        <div class="actions">
          <button @click=${() => decide(conflict, mine)}>
            <span class="break">${t.config.keepMine(shown(mine, field, hints))}</span>
          </button>
          <button @click=${() => decide(conflict, theirs)}>
            <span class="break">${t.config.takeTheirs(shown(theirs, field, hints))}</span>
          </button>
        </div>
      </div>`;
    })}
  </section>`;
}
