/** Handler of `agents.prompt.preview`: prepares a run of a session that does not exist, and starts nothing. */
import { randomUUID } from "node:crypto";
import type { Handlers, ResultOf } from "@svc/sdk";
import type { agents as contract } from "@svc/sdk/agents";
import { cut } from "@svc/sdk/cli";
import { findAgent } from "../directory/directory.ts";
import type { Environment } from "./environment.ts";
import { Heard } from "./heard.ts";
import { load, prepareRun } from "./preparation.ts";
import type { PromptReport } from "./prompt-report.ts";

type Section = ResultOf<typeof contract.promptPreview>["sections"][number];

/** Choice: characters of one section that are returned. */
const MAX_TEXT = 100_000;

export function createPreviewHandler(env: Environment): Pick<Handlers<typeof contract>, "promptPreview"> {
  return {
    async promptPreview({ params, principal }) {
      const { agents } = env;
      const { id: agentId, systemPrompt } = findAgent(params.agentId ?? agents.defaultId, agents);
      // A key of its own, so that events waiting for a real session stay with it.
      const [runId, sessionKey] = [`preview-${randomUUID()}`, `agent:${agentId}:preview-${randomUUID()}`];
      const request = { runId, sessionKey, message: "", source: "preview", principal };
      const { models, tools, report } = await prepareRun(request, await load(request, env), new Heard(), env);
      const [{ provider, id }] = models;
      return {
        agentId,
        model: `${provider}/${id}`,
        chars: report.system.length,
        sections: sectionsOf(systemPrompt, report),
        tools: tools.offer(models[0], false).tools.map(({ name, description, parameters }) => ({
          name,
          chars: name.length + description.length + JSON.stringify(parameters).length,
        })),
      };
    },
  };
}

/** Splits a prompt into its sources. A plugin that changed more than the end of the prompt leaves one section. */
function sectionsOf(systemPrompt: string, { system, workspace, skills }: PromptReport): Section[] {
  const base = [systemPrompt, workspace.text].filter(Boolean).join("\n\n");
  if (!system.startsWith(base)) return [section("plugins", "Whole prompt, changed by a plugin", system)];
  const files = workspace.files.map(({ name, rawChars, injectedChars, truncated }, index) => ({
    ...section("file", name, workspace.parts[index] ?? ""),
    chars: injectedChars,
    fileChars: rawChars,
    truncated,
  }));
  const added = system.slice(base.length);
  const listed = skills && added.includes(skills.prompt) ? skills.prompt : "";
  const others = added.replace(listed, () => "").trim();
  return [
    section("instructions", "Instructions", systemPrompt),
    ...files,
    section("skills", "Skills", listed),
    section("plugins", "Added by plugins", others),
  ].filter(({ text }) => text !== "");
}

function section(kind: Section["kind"], title: string, text: string): Section {
  return { kind, title, chars: text.length, text: cut(text, MAX_TEXT) };
}
