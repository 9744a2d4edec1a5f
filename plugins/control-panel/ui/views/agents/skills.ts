/** Tab: which skills the agent may use. */
import { skills } from "@svc/sdk/skills";
import { html, nothing, type TemplateResult } from "lit";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { badge, empty, show } from "../../parts/show.ts";
import { obstaclesOf, type Skill, stateOf } from "../skills/obstacles.ts";
import { createDraft } from "./draft.ts";
import { type AgentTab, entryOf, patchAgent } from "./entries.ts";

export function skillsTab({ context, id, settings, reload }: AgentTab): () => TemplateResult {
  const mayChange = context.may("operator.admin");
  const status = context.resource(() => context.call(skills.status, { agentId: id }), { everyMs: 60_000 });
  /** Keys of the skills that the agent may use; `undefined`: all. */
  const draft = createDraft<readonly string[] | undefined>({
    context,
    settings,
    stored: () => entryOf(settings(), id)?.skills,
    save: (names, base) => patchAgent(context, base, id, { skills: names ?? null }),
    reload: async () => {
      await reload();
      await status.reload();
    },
  });
  const toggle = (skill: Skill, isOn: boolean) => {
    const others = (draft.value() ?? []).filter((name) => name !== skill.skillKey && name !== skill.name);
    draft.change(isOn ? [...others, skill.skillKey] : others);
  };

  const row = (skill: Skill): TemplateResult => {
    const names = draft.value();
    const isOn = names === undefined || names.includes(skill.skillKey) || names.includes(skill.name);
    const others = obstaclesOf({ ...skill, excludedByAgent: false });
    return html`<li class="tool">
      ${
        names === undefined || !mayChange
          ? nothing
          : html`<input
              type="checkbox"
              aria-label=${t.agents.skillsMay(skill.name)}
              .checked=${isOn}
              @change=${(event: Event) => toggle(skill, (event.target as HTMLInputElement).checked)}
            />`
      }
      <div class="what">
        <strong class="break">${skill.emoji ?? ""} ${skill.name}</strong>
        <small class="clamp">${skill.description}</small>
        ${others.map(({ why }) => html`<small class="why">${why}</small>`)}
      </div>
      ${badge(...stateOf(skill))}
    </li>`;
  };

  return () => {
    const names = draft.value();
    return html`<div class="line">
        <span>${names === undefined ? t.agents.skillsAll : t.agents.skillsSome(names.length)}</span>
        <span class="fill"></span>
        ${
          !mayChange
            ? nothing
            : names === undefined
              ? html`<button
                  ?disabled=${!status.value}
                  @click=${() => draft.change((status.value?.skills ?? []).map(({ skillKey }) => skillKey))}
                >
                  ${t.agents.skillsChoose}
                </button>`
              : html`<button @click=${() => draft.change(undefined)}>${t.agents.skillsAllow}</button>`
        }
        <a href=${hrefOf("skills", { agent: id })}>${t.agents.skillsManage}</a>
      </div>
      ${draft.bar(true)}
      ${show(status, ({ skills: all }) =>
        all.length === 0
          ? empty(t.skills.none, t.skills.noneText)
          : html`<section class="card">
              <ul class="tools">
                ${all.map(row)}
              </ul>
            </section>`,
      )}`;
  };
}
