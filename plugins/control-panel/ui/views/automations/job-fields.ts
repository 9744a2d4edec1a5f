/** The fields of a job, by what they are about. */
import type { CronJob } from "@svc/sdk/cron";
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../../core/text.ts";
import { drawField, type Field } from "../../parts/form.ts";
import { browserZone, type JobForm, UNITS } from "./job-form.ts";

type Choices = NonNullable<Field["choices"]>;
type Name = keyof JobForm;
type Draw = (name: Name, label: string, looks?: Omit<Field, "name" | "label" | "value">) => TemplateResult;
type Flag = (name: Name, label: string) => TemplateResult;

/** What draws the fields of a form with its values. */
export function fieldsOf(form: JobForm): { readonly field: Draw; readonly flag: Flag } {
  return {
    field: (name, label, looks) => drawField({ ...looks, name, label, value: String(form[name]) }),
    flag: (name, label) =>
      html`<label class="check"><input type="checkbox" name=${name} .checked=${form[name] === true} />${label}</label>`,
  };
}

export function scheduleFields(form: JobForm, field: Draw): TemplateResult {
  const e = t.automations.editor;
  if (form.kind === "every")
    return html`${field("every", e.every, { kind: "number", isRequired: true })}
    ${field("unit", e.unit, { choices: UNITS.map((ms) => [String(ms), e.units[ms]]) })}`;
  if (form.kind === "at")
    return field("at", e.at, { kind: "datetime-local", isRequired: true, hint: e.browserZone(browserZone()) });
  return html`${field("expr", e.expr, { isRequired: true, hint: e.exprHint })}
  ${field("tz", e.tz, { list: "job-zones", placeholder: e.tzPlaceholder })}`;
}

export function deliveryFields(form: JobForm, field: Draw, flag: Flag, known: readonly string[]): TemplateResult {
  const e = t.automations.editor;
  const isTurn = form.payload === "agentTurn";
  const mode = !isTurn && form.delivery === "announce" ? "none" : form.delivery;
  const modes: Choices = [
    ...(isTurn ? ([["announce", e.deliveries.announce]] as const) : []),
    ["webhook", e.deliveries.webhook],
    ["none", e.deliveries.none],
  ];
  return html`<div class="pair">
      ${field("delivery", e.deliveryMode, { choices: modes })}
      ${
        mode === "announce"
          ? html`${field("channel", e.channel, { list: "job-channels", placeholder: e.lastChat })}
            ${field("to", e.to, { placeholder: e.toPlaceholder })}`
          : mode === "webhook"
            ? field("to", e.url, { placeholder: "https://", isRequired: true })
            : nothing
      }
    </div>
    ${mode === "announce" && known.length > 0 && form.channel === "" ? html`<small>${e.announceHint}</small>` : nothing}
    ${mode === "none" ? nothing : flag("bestEffort", e.bestEffort)}`;
}

/** Fields that few jobs need. */
export function moreFields(form: JobForm, field: Draw, flag: Flag, job: CronJob | undefined): TemplateResult {
  const e = t.automations.editor;
  const isTurn = form.payload === "agentTurn";
  const modes: Choices = [
    ["announce", e.deliveries.announce],
    ["webhook", e.deliveries.webhook],
  ];
  const mayHaveNone = job?.delivery?.failureDestination === undefined;
  return html`<div class="pair">
      ${form.kind === "cron" ? field("stagger", e.stagger, { kind: "number", hint: e.staggerHint }) : nothing}
      ${form.kind === "every" ? field("anchor", e.anchor, { kind: "datetime-local", hint: e.anchorHint }) : nothing}
      ${field("overlap", e.overlap, {
        choices: [
          ["skip", e.overlaps.skip],
          ["queue", e.overlaps.queue],
          ["replace", e.overlaps.replace],
        ],
      })}
      ${field("catchUp", e.catchUp, {
        choices: [
          ["last", e.catchUps.last],
          ["all", e.catchUps.all],
          ["none", e.catchUps.none],
        ],
      })}
      ${form.catchUp === "all" ? field("catchUpHours", e.catchUpHours, { kind: "number" }) : nothing}
      ${field("wakeMode", e.wakeMode, {
        choices: [
          ["now", e.wakeModes.now],
          ["next-heartbeat", e.wakeModes["next-heartbeat"]],
        ],
      })}
      ${
        isTurn
          ? html`${field("sessionKey", e.sessionKey, { hint: e.sessionKeyHint })}
            ${job ? nothing : field("fallbacks", e.fallbacks, { hint: e.fallbacksHint })}`
          : nothing
      }
      ${isTurn && form.delivery === "announce" ? field("accountId", e.accountId) : nothing}
    </div>
    ${flag("deleteAfterRun", e.deleteAfterRun)} ${isTurn ? flag("lightContext", e.lightContext) : nothing}
    <div class="pair">
      ${field("alert", e.alert, {
        choices: [
          ...(job?.failureAlert === undefined ? ([["default", e.alerts.default]] as const) : []),
          ["own", e.alerts.own],
          ["off", e.alerts.off],
        ],
      })}
      ${
        form.alert === "own"
          ? html`${field("alertAfter", e.alertAfter, { kind: "number" })}
            ${field("alertCooldown", e.alertCooldown, { kind: "number" })}
            ${field("alertMode", e.deliveryMode, { choices: modes })}
            ${
              form.alertMode === "announce"
                ? html`${field("alertChannel", e.channel, { list: "job-channels" })}
                  ${field("alertAccountId", e.accountId)}`
                : nothing
            }
            ${field("alertTo", form.alertMode === "webhook" ? e.url : e.to)}`
          : nothing
      }
    </div>
    ${
      form.delivery === "none" || (!isTurn && form.delivery !== "webhook")
        ? nothing
        : html`<div class="pair">
            ${field("failureMode", e.failure, {
              choices: [...(mayHaveNone ? ([["", e.failureUsual]] as const) : []), ...modes],
            })}
            ${
              form.failureMode === "announce"
                ? html`${field("failureChannel", e.channel, { list: "job-channels" })}
                  ${field("failureAccountId", e.accountId)}`
                : nothing
            }
            ${form.failureMode === "" ? nothing : field("failureTo", form.failureMode === "webhook" ? e.url : e.to)}
          </div>`
    }`;
}

/** Whether a job has settings of the folded part. */
export function isUnusual(job: CronJob | undefined): boolean {
  return job?.failureAlert !== undefined || job?.delivery?.failureDestination !== undefined;
}

/** Known values, and the job's own one if it is none of them. */
export function withOwn(values: readonly string[], own: string): Choices {
  const all = own === "" || values.includes(own) ? values : [...values, own];
  return all.map((value) => [value, value]);
}
