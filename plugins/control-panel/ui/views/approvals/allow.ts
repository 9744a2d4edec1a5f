/** The question "for how long, and for what?" of a permission that lasts. */
import { execApproval } from "@svc/sdk/approvals";
import { html, nothing } from "lit";
import type { App } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { openDialog } from "../../parts/dialog.ts";
import { textOf } from "../../parts/form.ts";
import { failed } from "../../parts/show.ts";
import { wholeDuration } from "../../parts/time.ts";
import { type Approval, commandOf, coverageOf } from "./request.ts";

const HOUR = 3_600_000;
/** Offered durations of a grant. For `always` none is sent: the gateway then takes its longest. */
const DURATIONS = {
  this: [HOUR, 8 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR],
  session: [HOUR / 4, HOUR, 8 * HOUR, 24 * HOUR],
} as const;
const ALWAYS = "always";

/** @returns whether it was allowed */
export async function askHowLong(app: App, approval: Approval): Promise<boolean> {
  const { id, request } = approval;
  let scope: "this" | "session" = "this";
  const done = await openDialog<true>({
    title: t.approvals.allowFor,
    body: ({ close, redraw, run, isBusy, error }) => {
      const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        const chosen = textOf(new FormData(event.target as HTMLFormElement), "duration");
        const grant = chosen === ALWAYS ? {} : { grant: { for: scope, durationMs: Number(chosen) } };
        const resolution = { id, decision: "allow-always", ...grant } as const;
        if (await run(() => app.call(execApproval.resolve, resolution))) close(true);
      };
      const choice = (value: typeof scope, label: string, text: string) =>
        html`<label class="check choice">
          <input
            type="radio"
            name="scope"
            value=${value}
            .checked=${scope === value}
            @change=${() => {
              scope = value;
              redraw();
            }}
          /><span>${label}<small>${text}</small></span>
        </label>`;
      return html`<form @submit=${submit}>
        <div class="content">
          ${commandOf(approval)}
          <fieldset>
            <legend>${t.approvals.covered}</legend>
            ${choice("this", t.approvals.exactly, coverageOf(request))}
            ${request.session === undefined ? nothing : choice("session", t.approvals.forSession, request.session)}
          </fieldset>
          <label class="field">
            <span>${t.approvals.duration}</span>
            <select name="duration">
              ${DURATIONS[scope].map((ms) => html`<option value=${ms} ?selected=${ms === HOUR}>${wholeDuration(ms)}</option>`)}
              ${scope === "this" ? html`<option value=${ALWAYS}>${t.approvals.always}</option>` : nothing}
            </select>
            <small>${t.approvals.durationHint}</small>
          </label>
          ${error === undefined ? nothing : failed(error)}
        </div>
        <footer>
          <button type="button" @click=${() => close()}>${t.common.cancel}</button>
          <button class="primary" ?disabled=${isBusy}>${t.approvals.allow}</button>
        </footer>
      </form>`;
    },
  });
  return done === true;
}
