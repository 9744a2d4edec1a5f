/** A choice of the agent that a view shows. It stands in the address, as `agent`. */
import { agents } from "@svc/sdk/agents";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../core/app.ts";

/** @param label accessible name. @returns what draws the choice; nothing while there is only one agent */
export function createAgentChoice(context: ViewContext, label: () => string): () => TemplateResult | typeof nothing {
  const all = context.resource(async () => (context.serves(agents.list) ? context.call(agents.list, {}) : undefined));
  return () => {
    const { agents: rows = [], defaultId } = all.value ?? {};
    if (rows.length < 2) return nothing;
    const { view, params } = context.place;
    const chosen = params.get("agent") ?? defaultId;
    return html`<select
      class="agent-choice"
      aria-label=${label()}
      @change=${({ target }: Event) => context.go(view, { agent: (target as HTMLSelectElement).value }, { replace: true })}
    >
      ${rows.map(({ id, name, identity }) => html`<option value=${id} .selected=${id === chosen}>${identity?.name ?? name ?? id}</option>`)}
    </select>`;
  };
}
