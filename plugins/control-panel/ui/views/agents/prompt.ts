/** Tab: what a new conversation of the agent sends to the model before the first message. */
import type { ResultOf } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { html, nothing, type TemplateResult } from "lit";
import { locale, t } from "../../core/text.ts";
import { badge, show } from "../../parts/show.ts";
import { compact } from "../../parts/time.ts";
import type { AgentTab } from "./entries.ts";

type Section = ResultOf<typeof agents.promptPreview>["sections"][number];

/** Rule of thumb for European languages. */
const CHARS_PER_TOKEN = 4;

export function promptTab({ context, id }: AgentTab): () => TemplateResult {
  const preview = context.resource(() => context.call(agents.promptPreview, { agentId: id }));
  const whole = (count: number) => count.toLocaleString(locale);

  const section = ({ kind, title, chars, fileChars, truncated, text }: Section): TemplateResult =>
    html`<details class="card">
      <summary>
        <span class="line"
          ><strong class="break">${t.agents.promptKinds[kind] ?? title}</strong>
          ${truncated === true ? badge(t.agents.promptCut(whole(fileChars ?? chars)), "warning") : nothing}
          <span class="fill"></span><small>${t.agents.characters(whole(chars))}</small></span
        >
      </summary>
      <pre class="document-text" tabindex="0">${text}</pre>
    </details>`;

  return () =>
    html`<p class="quiet">${t.agents.promptText}</p>
      ${show(preview, ({ model, chars, sections, tools }) => {
        const ofTools = tools.reduce((sum, tool) => sum + tool.chars, 0);
        const total = chars + ofTools;
        return html`<p class="line">
            ${badge(model)}
            <span>${t.agents.promptSize(whole(total), compact(Math.round(total / CHARS_PER_TOKEN)))}</span>
          </p>
          ${sections.map(section)}
          <details class="card">
            <summary>
              <span class="line"
                ><strong>${t.agents.promptTools(tools.length)}</strong><span class="fill"></span
                ><small>${t.agents.characters(whole(ofTools))}</small></span
              >
            </summary>
            <table>
              <tbody>
                ${tools.map(
                  (tool) =>
                    html`<tr>
                      <td class="mono break">${tool.name}</td>
                      <td class="number">${whole(tool.chars)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </details>`;
      })}`;
}
