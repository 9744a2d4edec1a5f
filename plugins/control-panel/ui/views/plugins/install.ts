/** Installs or updates a plugin: the gateway fetches and checks it, says what it may do, and goes on only after an agreement. */
import { isGatewayError } from "@svc/sdk/errors";
import { type PluginInstallation, plugins } from "@svc/sdk/plugins";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { openDialog } from "../../parts/dialog.ts";
import { textOf } from "../../parts/form.ts";
import { facts, failed } from "../../parts/show.ts";

/** Details of a refusal that asks for an agreement. */
interface Question {
  readonly id: string;
  /** What the plugin does and asks for, a sentence without subject each. */
  readonly summary: readonly string[];
  /** Stands for exactly this package and these permissions. */
  readonly agree: string;
}

type Step =
  | { readonly kind: "spec" }
  | { readonly kind: "question"; readonly question: Question }
  | { readonly kind: "done"; readonly done: PluginInstallation };

/** npm may be slow. */
const CALL_MS = 600_000;

/** @returns what was installed; `undefined`: nothing */
export function installPlugin(context: ViewContext): Promise<PluginInstallation | undefined> {
  return bring(context, t.plugins.install, undefined);
}

export function updatePlugin(context: ViewContext, id: string): Promise<PluginInstallation | undefined> {
  return bring(context, t.plugins.updateOf(id), id);
}

/** @param id the plugin to update; `undefined`: people name the one to install */
async function bring(
  context: ViewContext,
  title: string,
  id: string | undefined,
): Promise<PluginInstallation | undefined> {
  let step: Step = { kind: "spec" };
  let spec = "";
  let doing = "";
  let done: PluginInstallation | undefined;
  const call = (agree: string | undefined) => {
    const agreed = agree === undefined ? {} : { agree };
    return id === undefined
      ? context.call(plugins.install, { spec, ...agreed }, { timeoutMs: CALL_MS })
      : context.call(plugins.update, { id, ...agreed }, { timeoutMs: CALL_MS });
  };
  const advance = async (text: string, agree?: string) => {
    doing = text;
    try {
      done = await call(agree);
      step = { kind: "done", done };
    } catch (failure) {
      const question = questionOf(failure);
      if (!question) throw failure;
      step = { kind: "question", question };
    }
  };
  await openDialog<true>({
    title,
    isWide: true,
    ...(id !== undefined && { load: () => advance(t.plugins.fetching) }),
    body: ({ close, run, isBusy, error }) => {
      if (isBusy)
        return html`<div class="content">
          <p class="waiting-line" role="status"><span class="spinner"></span>${doing}</p>
          <p class="quiet">${t.plugins.mayLeave}</p>
        </div>`;
      const cancel = html`<button type="button" @click=${() => close()}>${t.common.cancel}</button>`;
      const problem = error === undefined ? nothing : failed(error);
      switch (step.kind) {
        case "question": {
          const { question } = step;
          return html`<div class="content">
              <p>${t.plugins.asks(question.id)}</p>
              <ul class="asked">
                ${question.summary.map((line) => html`<li class="break">${line}</li>`)}
              </ul>
              <p class="quiet">${t.plugins.asksText}</p>
              ${problem}
            </div>
            <footer>
              ${cancel}<button
                class="primary"
                @click=${() => run(() => advance(t.plugins.installing(question.id), question.agree))}
              >
                ${t.plugins.agree}
              </button>
            </footer>`;
        }
        case "done":
          return html`<div class="content">${outcome(step.done)}</div>
            <footer><button class="primary" @click=${() => close(true)}>${t.common.close}</button></footer>`;
        case "spec":
          return id !== undefined
            ? html`<div class="content">${problem}</div>
                <footer>${cancel}</footer>`
            : html`<form
                @submit=${(event: SubmitEvent) => {
                  event.preventDefault();
                  spec = textOf(new FormData(event.target as HTMLFormElement), "spec").trim();
                  if (spec !== "") void run(() => advance(t.plugins.fetching));
                }}
              >
                <div class="content">
                  <label class="field">
                    <span>${t.plugins.spec}</span>
                    <input name="spec" required autofocus autocomplete="off" spellcheck="false" .defaultValue=${spec} />
                    <small>${t.plugins.specHint}</small>
                  </label>
                  <p class="quiet">${t.plugins.before}</p>
                  ${problem}
                </div>
                <footer>${cancel}<button class="primary">${t.plugins.check}</button></footer>
              </form>`;
      }
    },
  });
  return done;
}

function outcome({
  id,
  version,
  changed,
  state,
  reason,
  previousVersion,
  name,
  integrity,
}: PluginInstallation): TemplateResult {
  const isGood = state === undefined || state === "active";
  return html`<p class="notice ${isGood ? "good" : "warning"}">
      ${changed ? t.plugins.installed(id, version) : t.plugins.sameVersion(id, version)}
    </p>
    ${facts([
      [t.plugins.package, name],
      [t.plugins.previous, previousVersion],
      [t.plugins.state, state],
      [t.plugins.reason, reason],
      [t.plugins.integrity, html`<span class="mono">${integrity}</span>`],
    ])}`;
}

/** `undefined`: the failure is not a question. */
function questionOf(error: unknown): Question | undefined {
  if (!isGatewayError(error)) return undefined;
  const { code, id, summary, agree } = Object(error.details) as Readonly<Record<string, unknown>>;
  if (code !== "AGREEMENT_NEEDED" || typeof agree !== "string" || !Array.isArray(summary)) return undefined;
  return { id: String(id), summary: summary.map(String), agree };
}
