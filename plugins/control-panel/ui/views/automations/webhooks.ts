/** Webhooks: the mappings with their state and problems, how to call them, a trial, and the accepted requests. */
import { config } from "@svc/sdk/config";
import { type WebhookMappingInfo, webhooks, type WebhookProblem, type WebhookRun } from "@svc/sdk/webhooks";
import { html, nothing, type TemplateResult } from "lit";
import { ArrowLeft, CircleAlert, TriangleAlert } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts, show } from "../../parts/show.ts";
import { attempt, toast } from "../../parts/toast.ts";
import { createSwitches } from "./switches.ts";
import { sampleOf } from "./webhook-sample.ts";
import { createHookRuns } from "./webhook-runs.ts";
import { createTrial } from "./webhook-try.ts";

/** Accepted webhooks that the numbers of a mapping count. */
const COUNTED = 200;
const EVERY_MS = 15_000;
const TRANSFORM_TONES = { live: "good", stale: "warning", missing: "bad", broken: "bad" } as const;

export function createWebhooks(context: ViewContext): { render(): TemplateResult } {
  const mayChange = context.may("operator.admin");
  const list = context.resource(() => context.call(webhooks.list, {}), { everyMs: EVERY_MS });
  const check = context.resource(() => context.call(webhooks.check, {}), { everyMs: 60_000 });
  const recent = context.resource(async () => (await context.call(webhooks.runs, { limit: COUNTED })).runs, {
    everyMs: EVERY_MS,
  });
  const runs = createHookRuns(context, () => list.value?.mappings.map(({ id }) => id) ?? []);
  let trial: ReturnType<typeof createTrial> | undefined;

  const reload = () => Promise.all([list.reload(), check.reload()]);

  /** Turns webhooks on; without a token, the gateway gets a random one. */
  const turnOn = async () => {
    const isOn = await confirm({
      title: t.automations.hooks.turnOn,
      text: html`<p>${t.automations.hooks.turnOnText}</p>`,
      action: t.automations.hooks.turnOn,
      work: async () => {
        const { hash, parsed } = await context.call(config.get, {});
        const { hooks } = Object(parsed) as { readonly hooks?: { readonly token?: unknown } };
        const token = hooks?.token === undefined ? { token: randomToken() } : {};
        await context.call(config.patch, {
          raw: JSON.stringify({ hooks: { enabled: true, ...token } }),
          baseHash: hash,
        });
      },
    });
    if (isOn) await reload();
  };

  const init = () =>
    attempt(async () => {
      const { directory } = await context.call(webhooks.init, {});
      toast(t.automations.hooks.prepared(directory), "good");
      await reload();
    });

  const switchOf = createSwitches(
    context,
    (id, isOn) => context.call(isOn ? webhooks.enable : webhooks.disable, { id }),
    reload,
  );

  const row = (mapping: WebhookMappingInfo): TemplateResult => {
    const w = t.automations.hooks;
    const { id, origin, path, action, actionOwner, transform, problems } = mapping;
    const { done, failed: bad } = countsOf(recent.value ?? [], id);
    const errors = problems.filter(({ severity }) => severity === "error").length;
    return html`<li class="hook">
      ${switchOf(id, id, mapping.enabled)}
      <span class="name">
        <a class="ellipsis" href=${hrefOf("automations", { tab: "webhooks", mapping: id })}>${id}</a>
        <small class="ellipsis mono">${path}</small>
      </span>
      <span class="what">
        ${badge(action, actionOwner === undefined ? "bad" : "neutral")}
        ${transform ? badge(`${transform.module}: ${w.states[transform.state]}`, TRANSFORM_TONES[transform.state]) : nothing}
        ${errors > 0 ? badge(w.problems(errors), "bad") : nothing}
      </span>
      <span class="quiet origin">${originText(origin)}</span>
      <span class="quiet number">${done + bad === 0 ? "" : w.counts(done, bad)}</span>
    </li>`;
  };

  const problem = ({ path, message, severity }: WebhookProblem) =>
    html`<li class="notice ${severity === "error" ? "bad" : "warning"}">
      ${icon(severity === "error" ? CircleAlert : TriangleAlert)}
      <div><strong class="mono">${path}</strong><br />${message}</div>
    </li>`;

  const all = (value: NonNullable<typeof list.value>): TemplateResult => {
    const w = t.automations.hooks;
    const { enabled, transformsDir, mappings } = value;
    const problems = check.value?.problems ?? [];
    return html`${enabled ? nothing : off()}
      ${
        problems.length === 0
          ? nothing
          : html`<ul class="plain-list problems" aria-label=${w.problemList}>
              ${problems.map(problem)}
            </ul>`
      }
      <section class="card">
        <header>
          <h2>${w.mappings}</h2>
          <span class="quiet">${w.mappingsText}</span>
        </header>
        <ul class="rows" aria-label=${w.mappings}>
          ${mappings.map(row)}
        </ul>
      </section>
      <section class="card">
        <header>
          <h2>${w.transforms}</h2>
          <span class="fill"></span>
          ${mayChange ? html`<button @click=${init}>${w.init}</button>` : nothing}
        </header>
        <p class="quiet">${w.transformsText} <code class="break">${transformsDir}</code></p>
        ${mappings.some(({ transform }) => transform) ? transforms(mappings) : nothing}
      </section>
      ${enabled || (recent.value?.length ?? 0) > 0 ? runs.render() : nothing}`;
  };

  const off = () =>
    html`<div class="notice warning">
      ${icon(TriangleAlert)}
      <div>
        <p>${t.automations.hooks.off}</p>
        ${mayChange && context.serves(config.patch) ? nothing : html`<p>${t.automations.hooks.offNext}</p>`}
      </div>
      ${
        mayChange && context.serves(config.patch)
          ? html`<button @click=${turnOn}>${t.automations.hooks.turnOn}</button>`
          : nothing
      }
    </div>`;

  const one = (value: NonNullable<typeof list.value>, id: string): TemplateResult => {
    const w = t.automations.hooks;
    const mapping = value.mappings.find((known) => known.id === id);
    const back = html`<div>
      <button class="plain" @click=${() => context.go("automations", { tab: "webhooks" })}>
        ${icon(ArrowLeft)}${w.all}
      </button>
    </div>`;
    if (!mapping)
      return html`${back}
        <p class="notice">${w.removed}</p>`;
    if (trial?.id !== id) trial = createTrial(context, mapping);
    const counts = countsOf(recent.value ?? [], id);
    return html`${back} ${value.enabled ? nothing : off()}
      <section class="card">
        <header>
          ${switchOf(id, id, mapping.enabled)}
          <h2 class="break">${id}</h2>
          ${badge(mapping.action, mapping.actionOwner === undefined ? "bad" : "neutral")}
        </header>
        ${mapping.actionOwner === undefined ? html`<p class="notice bad">${w.noAction(mapping.action)}</p>` : nothing}
        ${
          mapping.problems.length === 0
            ? nothing
            : html`<ul class="plain-list problems">
                ${mapping.problems.map(problem)}
              </ul>`
        }
        ${facts([
          [w.path, html`<code>${mapping.path}</code>`],
          [w.origin, originText(mapping.origin)],
          ...conditions(mapping.match),
          [w.sender, mapping.verify === "bearer" ? w.bearer : w.signed(mapping.verify)],
          [w.numbers, w.numbersOf(counts.done, counts.failed, counts.open)],
        ])}
        ${mapping.transform ? transforms([mapping]) : nothing}
        <h3>${w.howToCall}</h3>
        ${command(curlLine(context, value.path, mapping))}
        ${mapping.verify === "bearer" ? tokenHelp(context) : html`<small>${w.signedHelp(mapping.verify)}</small>`}
      </section>
      ${context.may("operator.write") ? trial.render() : nothing}`;
  };

  return {
    render: () =>
      show(list, (value) => {
        const id = context.place.params.get("mapping");
        return id === null ? all(value) : one(value, id);
      }),
  };
}

/** The transforms of mappings with their state and the place of an error. */
function transforms(mappings: readonly WebhookMappingInfo[]): TemplateResult {
  const w = t.automations.hooks;
  const used = mappings.flatMap(({ id, transform }) => (transform ? [{ id, ...transform }] : []));
  return html`<ul class="rows" aria-label=${w.transforms}>
    ${used.map(
      ({ id, module, state, problem, version, examples, strayErrors, placement }) =>
        html`<li class="transform">
          <span class="line">
            <strong class="mono">${module}</strong> ${badge(w.states[state], TRANSFORM_TONES[state])}
            <span class="quiet">${w.usedBy(id)} · ${w.placements[placement]}</span>
            ${examples === undefined ? nothing : html`<span class="quiet">${w.examples(examples)}</span>`}
            ${version === undefined ? nothing : html`<code class="quiet">${version}</code>`}
            ${strayErrors === undefined ? nothing : badge(w.strayErrors(strayErrors), "warning")}
          </span>
          ${problem === undefined ? nothing : html`<pre class="box bad">${problem}</pre>`}
        </li>`,
    )}
  </ul>`;
}

/** What must hold for the mapping, as facts. */
function conditions(match: unknown): readonly (readonly [string, unknown])[] {
  const w = t.automations.hooks;
  const {
    source,
    headers = {},
    when = {},
  } = Object(match) as {
    readonly source?: string;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly when?: Readonly<Record<string, unknown>>;
  };
  const all = [
    ...(source === undefined ? [] : [["source", source] as const]),
    ...Object.entries(headers).map(([name, value]) => [w.header(name), value] as const),
    ...Object.entries(when),
  ];
  if (all.length === 0) return [];
  return [
    [
      w.conditions,
      html`${all.map(([place, wanted]) => html`<div><code>${place}</code> ${conditionText(wanted)}</div>`)}`,
    ],
  ];
}

function conditionText(wanted: unknown): string {
  const w = t.automations.hooks;
  const plain = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (Array.isArray(wanted)) return w.oneOf(wanted.map(plain).join(", "));
  if (typeof wanted !== "object" || wanted === null) return w.is(plain(wanted));
  const { exists, not } = wanted as { readonly exists?: unknown; readonly not?: unknown };
  if (exists !== undefined) return exists === true ? w.exists : w.existsNot;
  return w.isNot(plain(not));
}

function originText(origin: string): string {
  const w = t.automations.hooks;
  if (origin === "action") return w.origins.action;
  return origin.startsWith("preset:") ? w.origins.preset(origin.slice("preset:".length)) : w.origins.config;
}

function countsOf(runs: readonly WebhookRun[], id: string) {
  const own = runs.filter(({ mapping }) => mapping === id);
  const of = (...wanted: string[]) => own.filter(({ status }) => wanted.includes(status)).length;
  return { done: of("done"), failed: of("failed"), open: of("queued", "running") };
}

/** A request for a terminal. The token stays a variable: a page is no place for it. */
function curlLine(context: ViewContext, base: string, mapping: WebhookMappingInfo): string {
  const path = mapping.path === "*" ? `${base}/any` : mapping.path;
  const address = `${context.connection.url.replace(/^ws/, "http")}${path}`;
  const { headers, payload } = sampleOf(mapping);
  const extra = Object.entries(headers).map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`);
  const auth = mapping.verify === "bearer" ? ` -H "Authorization: Bearer $SVC_HOOKS_TOKEN"` : "";
  return `curl ${quoted(address)}${auth}${extra.join("")} --data ${quoted(JSON.stringify(payload))}`;
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function tokenHelp(context: ViewContext): TemplateResult {
  const { snapshot } = context.connection.client?.hello ?? {};
  return html`<small class="break">${t.automations.hooks.tokenHelp(snapshot?.configPath ?? "svc.json")}</small>`;
}

/** 24 random bytes, as hex. */
function randomToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
