/** What people with every right can do with one skill. */
import { isGatewayError } from "@svc/sdk/errors";
import { skills } from "@svc/sdk/skills";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { askFor, confirm } from "../../parts/dialog.ts";
import { attempt, toast } from "../../parts/toast.ts";
import type { Skill } from "./obstacles.ts";

/** Longest time of an installer, in milliseconds. */
const INSTALL_MS = 900_000;

export function skillActions(context: ViewContext, reload: () => Promise<void>): (skill: Skill) => TemplateResult {
  const change = (skill: Skill, enabled: boolean) =>
    attempt(
      async () => {
        await context.call(skills.update, { skillKey: skill.skillKey, enabled });
        await reload();
      },
      enabled ? t.skills.enabled(skill.name) : t.skills.disabled(skill.name),
    );

  const setKey = async ({ name, skillKey }: Skill) => {
    const values = await askFor({
      title: t.skills.setKeyTitle(name),
      text: html`<p>${t.skills.setKeyText}</p>`,
      fields: [{ name: "key", label: t.skills.apiKey, hint: t.skills.apiKeyHint, kind: "password" }],
      action: t.common.save,
      work: ({ key = "" }) => context.call(skills.update, { skillKey, apiKey: key.trim() }),
    });
    if (values) await reload();
  };

  const setEnv = async ({ name, skillKey, requirements, primaryEnv }: Skill) => {
    const first = requirements.env.find((variable) => variable !== primaryEnv) ?? "";
    const values = await askFor({
      title: t.skills.setEnvTitle(name),
      text: html`<p>${t.skills.setKeyText}</p>`,
      fields: [
        { name: "name", label: t.skills.variable, value: first, isRequired: true },
        { name: "value", label: t.skills.value, hint: t.skills.valueHint, kind: "password" },
      ],
      action: t.common.save,
      work: ({ name: variable = "", value = "" }) =>
        context.call(skills.update, { skillKey, env: { [variable.trim()]: value.trim() } }),
    });
    if (values) await reload();
  };

  const install = async (skill: Skill, { id: installId, label }: Skill["install"][number]) => {
    const isDone = await confirm({
      title: t.skills.installTitle(skill.name),
      text: html`<p>${t.skills.installText}</p>
        <p><strong class="break">${label}</strong></p>`,
      action: t.skills.addNow,
      work: async () => {
        toast(t.skills.installing);
        try {
          const params = { name: skill.name, installId, timeoutMs: INSTALL_MS };
          await context.call(skills.install, params, { timeoutMs: INSTALL_MS + 5_000 });
        } catch (error) {
          throw withOutput(error);
        }
      },
    });
    if (!isDone) return;
    toast(t.skills.installed, "good");
    await reload();
  };

  const remove = async ({ name }: Skill) => {
    const isDone = await confirm({
      title: t.skills.removeTitle(name),
      text: t.skills.removeText,
      action: t.skills.remove,
      isDangerous: true,
      work: () => context.call(skills.remove, { name }),
    });
    if (!isDone) return;
    toast(t.skills.removed(name), "good");
    await reload();
  };

  return (skill) => {
    const isMissing = skill.missing.bins.length + skill.missing.anyBins.length > 0;
    return html`<div class="actions">
      ${
        skill.disabled
          ? html`<button @click=${() => change(skill, true)}>${t.skills.enable}</button>`
          : html`<button @click=${() => change(skill, false)}>${t.skills.disable}</button>`
      }
      ${
        skill.primaryEnv === undefined
          ? nothing
          : html`<button @click=${() => setKey(skill)}>${t.skills.setKey}</button>`
      }
      <button @click=${() => setEnv(skill)}>${t.skills.setEnv}</button>
      ${
        isMissing && skill.outside !== true
          ? skill.install.map(
              (one) => html`<button class="accent" @click=${() => install(skill, one)}>${one.label}</button>`,
            )
          : nothing
      }
      ${
        skill.source === "svc-managed"
          ? html`<button class="danger" @click=${() => remove(skill)}>${t.skills.remove}</button>`
          : nothing
      }
    </div>`;
  };
}

/** A failed installer says why in its output, which the error carries beside its message. */
function withOutput(error: unknown): unknown {
  if (!isGatewayError(error)) return error;
  const { stderr = "", stdout = "" } = Object(error.payload) as { readonly stderr?: string; readonly stdout?: string };
  const output = (stderr.trim() || stdout.trim()).slice(-1_500);
  return output === "" ? error : new Error(`${error.message}\n\n${t.skills.output}:\n${output}`);
}
