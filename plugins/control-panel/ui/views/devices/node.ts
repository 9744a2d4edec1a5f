/** A node: its state, its commands, and dialogs that run a command on it or change its rules. */
import type { Static } from "@svc/sdk";
import { type ExecPolicySnapshot, execApprovals } from "@svc/sdk/approvals";
import { GatewayError } from "@svc/sdk/errors";
import { nodes, type NodeView } from "@svc/sdk/nodes";
import { html, nothing, type TemplateResult } from "lit";
import { Pencil, Play, ShieldCheck } from "lucide";
import { type App, contextFor, type ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { askFor, openDialog } from "../../parts/dialog.ts";
import { execPolicy } from "../../parts/exec-policy.ts";
import { textOf } from "../../parts/form.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts, failed, waiting } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";
import { readable } from "../../parts/value.ts";

type Node = Static<typeof NodeView>;
type Snapshot = Static<typeof ExecPolicySnapshot>;

/** Params that a command usually needs, to start from. */
const EXAMPLES: Readonly<Record<string, object>> = {
  "system.notify": { title: "svc", body: "Hello" },
  "system.run": { command: ["uname", "-a"] },
  "system.which": { bins: ["git"] },
  "canvas.navigate": { url: "https://example.com" },
  "camera.snap": { facing: "front" },
};

export const nodeName = ({ displayName, nodeId }: Node): string => displayName ?? nodeId.slice(0, 12);

export function drawNode(context: ViewContext, node: Node, done: () => void): TemplateResult {
  const { nodeId, connected, platform, version, deviceFamily, modelIdentifier, caps, commands, permissions } = node;
  const { pendingCommands = [] } = node;
  const name = nodeName(node);
  const rename = async () => {
    const values = await askFor({
      title: t.devices.renameOf(name),
      fields: [{ name: "name", label: t.devices.name, value: node.displayName ?? "", isRequired: true }],
      action: t.common.save,
      work: ({ name: given = "" }) => context.call(nodes.rename, { nodeId, displayName: given }),
    });
    if (values) done();
  };
  const names = (list: readonly string[]) =>
    html`<span class="line names">${list.map((one) => html`<code>${one}</code>`)}</span>`;
  const hasRules = context.may("operator.admin") && context.serves(execApprovals.nodeGet) && connected;
  return html`<article class="card" aria-label=${name}>
    <header>
      <h3 class="break">${name}</h3>
      ${connected ? badge(t.devices.connected, "good") : badge(t.devices.away)}
      ${node.paired ? nothing : badge(t.devices.notPaired, "warning")}
    </header>
    ${facts([
      [t.devices.platform, [platform, deviceFamily, modelIdentifier, version].filter(Boolean).join(" · ")],
      [t.devices.since, node.connectedAtMs === undefined ? undefined : ago(node.connectedAtMs)],
      [t.devices.address, node.remoteIp],
      [t.devices.caps, caps.length === 0 ? undefined : names(caps)],
      [t.devices.commands, commands.length === 0 ? undefined : names(commands)],
      [
        t.devices.permissions,
        permissions &&
          html`<span class="line"
            >${Object.entries(permissions).map(([key, isGiven]) => badge(`${key}: ${isGiven ? t.common.yes : t.common.no}`, isGiven ? "good" : "neutral"))}</span
          >`,
      ],
      [t.devices.id, html`<code title=${nodeId}>${nodeId.slice(0, 16)} …</code>`],
    ])}
    ${
      pendingCommands.length === 0
        ? nothing
        : html`<div class="notice warning">
            <div>${t.devices.withheld} ${names(pendingCommands)}</div>
          </div>`
    }
    <div class="actions">
      ${
        context.may("operator.write") && commands.length > 0
          ? html`<button aria-label=${t.devices.invokeOn(name)} @click=${() => invoke(context, node)}>
              ${icon(Play)}${t.devices.invoke} …
            </button>`
          : nothing
      }
      ${
        hasRules
          ? html`<button aria-label=${t.devices.rulesOf(name)} @click=${() => showRules(context, node)}>
              ${icon(ShieldCheck)}${t.devices.rules}
            </button>`
          : nothing
      }
      ${
        context.may("operator.pairing")
          ? html`<button aria-label=${t.devices.renameOf(name)} @click=${rename}>
              ${icon(Pencil)}${t.devices.rename}
            </button>`
          : nothing
      }
    </div>
  </article>`;
}

async function invoke(context: ViewContext, node: Node): Promise<void> {
  const { nodeId, commands } = node;
  let command = commands[0] ?? "";
  let answer: { readonly payload: unknown } | undefined;
  const exampleOf = (name: string) => JSON.stringify(EXAMPLES[name] ?? {}, undefined, 2);
  await openDialog({
    title: t.devices.invokeOn(nodeName(node)),
    isWide: true,
    body: ({ close, redraw, run, isBusy, error }) => {
      const submit = (event: SubmitEvent) => {
        event.preventDefault();
        const data = new FormData(event.target as HTMLFormElement);
        answer = undefined;
        void run(async () => {
          const timeoutMs = Math.max(1, Number(data.get("seconds")) || 30) * 1_000;
          const params = paramsOf(textOf(data, "params"));
          const call = { nodeId, command, timeoutMs, ...(params === undefined ? {} : { params }) };
          const { payload } = await context.call(nodes.invoke, call, { timeoutMs: timeoutMs + 20_000 });
          answer = { payload };
        });
      };
      const choose = (event: Event) => {
        const select = event.target as HTMLSelectElement;
        const field = select.form?.elements.namedItem("params") as HTMLTextAreaElement;
        if (field.value.trim() === exampleOf(command)) field.value = exampleOf(select.value); // typed params stay
        command = select.value;
        redraw();
      };
      return html`<form @submit=${submit}>
        <div class="content">
          <div class="invoke">
            <label class="field"
              ><span>${t.devices.command}</span>
              <select name="command" @change=${choose}>
                ${commands.map((name) => html`<option value=${name}>${name}</option>`)}
              </select>
            </label>
            <label class="field"
              ><span>${t.devices.seconds}</span>
              <input name="seconds" type="number" min="1" max="600" .defaultValue=${"30"} />
            </label>
          </div>
          <label class="field"
            ><span>${t.devices.params}</span>
            <textarea
              class="mono"
              name="params"
              rows="5"
              spellcheck="false"
              .defaultValue=${exampleOf(commands[0] ?? "")}
            ></textarea>
          </label>
          ${isBusy ? waiting() : nothing} ${error === undefined ? nothing : failed(error)}
          ${
            answer
              ? html`<section class="column" aria-label=${t.devices.result} aria-live="polite">
                  <h3>${t.devices.result}</h3>
                  ${readable(answer.payload)}
                </section>`
              : nothing
          }
        </div>
        <footer>
          <button type="button" @click=${() => close()}>${t.common.close}</button>
          <button class="primary" ?disabled=${isBusy}>${icon(Play)}${t.devices.invoke}</button>
        </footer>
      </form>`;
    },
  });
}

/** @throws GatewayError with what is wrong about the text */
function paramsOf(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const details = { nextStep: t.devices.badParamsNext };
    throw new GatewayError("INVALID_REQUEST", t.devices.badParams((error as Error).message), { details });
  }
}

async function showRules(context: ViewContext, node: Node): Promise<void> {
  const { nodeId } = node;
  const open = new AbortController();
  context.signal.addEventListener("abort", () => open.abort(), { once: true, signal: open.signal });
  let draw = () => {};
  const scoped: App = Object.assign(Object.create(context) as App, { redraw: () => draw() }); // draws the dialog, not the page
  const dialogContext = contextFor(scoped, open.signal);
  const rules = execPolicy(dialogContext, {
    load: async () => policyOf(await context.call(execApprovals.nodeGet, { nodeId })),
    save: async (file, baseHash) => {
      const answer: unknown = await context.call(execApprovals.nodeSet, { nodeId, file, baseHash });
      return answer === undefined || answer === null ? undefined : policyOf(answer);
    },
  });
  await openDialog({
    title: t.devices.rulesOf(nodeName(node)),
    isWide: true,
    body: ({ close, redraw }) => {
      draw = redraw;
      return html`<div class="content">${rules.render()}</div>
        <footer><button @click=${() => close()}>${t.common.close}</button></footer>`;
    },
  });
  open.abort();
}

/** @throws GatewayError the node sent something else */
function policyOf(answer: unknown): Snapshot {
  const { path, hash, file } = Object(answer) as Partial<Snapshot>;
  if (typeof hash === "string" && typeof file === "object") return { path: path ?? "", exists: true, hash, file };
  throw new GatewayError("UNAVAILABLE", t.devices.noPolicy, { details: { nextStep: t.devices.noPolicyNext } });
}
