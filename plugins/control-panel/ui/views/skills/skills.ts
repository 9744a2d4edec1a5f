/** Skills: what agents can use, why not, what is missing; keys, installers, and skills from elsewhere. */
import { skills } from "@svc/sdk/skills";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { Plus } from "lucide";
import type { OpenView } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { createAgentChoice } from "../../parts/agent-choice.ts";
import { icon } from "../../parts/icon.ts";
import { searchField } from "../../parts/search.ts";
import { badge, empty, facts, show } from "../../parts/show.ts";
import { matcher } from "../../parts/words.ts";
import { skillActions } from "./actions.ts";
import { addSkill } from "./add.ts";
import { obstaclesOf, type Skill, stateOf } from "./obstacles.ts";
import "./skills.css";

const FILTERS = ["all", "usable", "unusable"] as const;
type Filter = (typeof FILTERS)[number];

export default ((context) => {
  let search = "";
  let filter: Filter = "all";
  const agentId = () => context.place.params.get("agent") ?? undefined;
  const list = context.resource(
    () => {
      const id = agentId();
      return context.call(skills.status, id === undefined ? {} : { agentId: id });
    },
    { everyMs: 30_000 },
  );
  const agentChoice = createAgentChoice(context, () => t.skills.agent);
  const actions = skillActions(context, () => list.reload());

  const found = (rows: readonly Skill[]) => {
    const matches = matcher(search);
    return rows.filter((skill) => {
      if (filter !== "all" && skill.eligible !== (filter === "usable")) return false;
      return matches(`${skill.name} ${skill.description} ${skill.skillKey}`);
    });
  };

  const draw = (skill: Skill): TemplateResult => {
    const obstacles = obstaclesOf(skill);
    const { bins, anyBins, env, config } = skill.requirements;
    const needs = [...bins, ...(anyBins.length > 0 ? [anyBins.join(" / ")] : []), ...env, ...config];
    return html`<details class="card skill">
      <summary>
        <span class="line">
          <span class="who"
            ><strong class="break">${skill.emoji ?? ""} ${skill.name}</strong>
            <small class="clamp">${skill.description}</small></span
          >
          ${badge(t.skills.sources[skill.source] ?? skill.source)} ${badge(...stateOf(skill))}
        </span>
      </summary>
      ${
        obstacles.length === 0
          ? nothing
          : html`<div class="notice warning">
              <div>
                <strong>${t.skills.why}</strong>
                <ul>
                  ${obstacles.map(({ why, next }) => html`<li>${why} ${next ?? ""}</li>`)}
                </ul>
              </div>
            </div>`
      }
      ${facts([
        [t.skills.needs, skill.always ? t.skills.always : needs.join(", ")],
        [t.skills.directory, html`<span class="mono">${skill.baseDir}</span>`],
        [t.skills.key, html`<span class="mono">${skill.skillKey}</span>`],
        [t.skills.homepage, link(skill.homepage)],
      ])}
      ${context.may("operator.admin") ? actions(skill) : nothing}
    </details>`;
  };

  return {
    navigated: () => void list.reload(),
    render: () =>
      html`<div class="view">
        <header class="toolbar">
          <h1>${t.skills.title}</h1>
          ${agentChoice()}
          ${searchField(search, (text) => {
            search = text;
            context.redraw();
          })}
          <select
            aria-label=${t.skills.show}
            @change=${(event: Event) => {
              filter = (event.target as HTMLSelectElement).value as Filter;
              context.redraw();
            }}
          >
            ${FILTERS.map((one) => html`<option value=${one} .selected=${one === filter}>${t.skills.filters[one]}</option>`)}
          </select>
          <span class="quiet" role="status">${list.value ? t.skills.count(found(list.value.skills).length) : ""}</span>
          <span class="fill"></span>
          ${
            context.may("operator.admin")
              ? html`<button class="primary" @click=${() => addSkill(context, () => list.reload())}>
                  ${icon(Plus)}${t.skills.add}
                </button>`
              : nothing
          }
        </header>
        ${show(list, ({ skills: rows, problems = [] }) => {
          const shown = found(rows);
          const skipped =
            problems.length === 0
              ? nothing
              : html`<details class="card">
                  <summary>${t.skills.problems(problems.length)}</summary>
                  ${facts(problems.map(({ path, reason }) => [path, reason] as const))}
                </details>`;
          if (rows.length === 0) return html`${empty(t.skills.none, t.skills.noneText)}${skipped}`;
          if (shown.length === 0) return html`${empty(t.skills.noMatch)}${skipped}`;
          return html`<div class="column">${repeat(shown, ({ filePath }) => filePath, draw)}</div>
            ${skipped}`;
        })}
      </div>`,
  };
}) satisfies OpenView;

/** A link of a skill: only the addresses that pages have. */
function link(address: string | undefined): TemplateResult | string | undefined {
  if (address === undefined || !/^https?:\/\//i.test(address)) return address;
  return html`<a href=${address} target="_blank" rel="noopener noreferrer">${address}</a>`;
}
