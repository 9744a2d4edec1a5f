/** Tab: the newest conversations of the agent. */
import { chatEvent } from "@svc/sdk/chat";
import { sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import { MessageSquare } from "lucide";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { titleOf } from "../../parts/session.ts";
import { badge, empty, show } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";
import type { AgentTab } from "./entries.ts";

const SHOWN = 50;

export function sessionsTab({ context, id }: AgentTab): () => TemplateResult {
  const list = context.resource(
    () => context.call(sessions.list, { agentId: id, limit: SHOWN, includeDerivedTitles: true }),
    { events: [chatEvent], everyMs: 60_000 },
  );
  return () =>
    html`<div class="line">
        <a class="button" href=${hrefOf("chat", { session: `agent:${id}:main` })}
          >${icon(MessageSquare)}${t.agents.startChat}</a
        >
        <a href=${hrefOf("sessions")}>${t.agents.sessionsAll}</a>
      </div>
      ${show(list, ({ sessions: rows }) =>
        rows.length === 0
          ? empty(t.agents.sessionsNone)
          : html`<section class="card">
              <ul class="tools">
                ${rows.map(
                  (row) =>
                    html`<li class="tool">
                      <div class="what">
                        <a class="break" href=${hrefOf("chat", { session: row.key })}>${titleOf(row)}</a>
                        <small class="mono ellipsis">${row.key}</small>
                      </div>
                      ${row.channel === undefined ? nothing : badge(row.channel)}
                      <span class="quiet">${ago(row.updatedAt)}</span>
                    </li>`,
                )}
              </ul>
              ${rows.length < SHOWN ? nothing : html`<p class="quiet">${t.agents.sessionsMore(SHOWN)}</p>`}
            </section>`,
      )}`;
}
