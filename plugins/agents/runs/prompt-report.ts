/** Describes the prompt of a run in the entry of its session. Spec: protocol/stores.md §1 `skillsSnapshot`, `systemPromptReport`. */
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import type { PromptSkills } from "@svc/sdk/agents";
import type { ResolvedModel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { PromptLimits, WorkspacePrompt } from "../directory/workspace-prompt.ts";
import type { RunTools } from "./tools.ts";

/** What the prompt of a run was made from. */
export interface PromptReport {
  readonly system: string;
  readonly workspace: WorkspacePrompt;
  /** Directory of the agent's files. */
  readonly directory: string;
  readonly tools: RunTools;
  readonly skills?: PromptSkills;
}

export interface ReportContext {
  readonly entry: SessionEntry | undefined;
  readonly sessionKey: string;
  readonly model: ResolvedModel;
  readonly limits: PromptLimits;
  /** epoch ms */
  readonly now: number;
}

/** The fields to write; none if they would only change the time. */
export function promptNote(report: PromptReport, context: ReportContext): Partial<SessionEntry> {
  const { entry, now } = context;
  const [skillsSnapshot, described] = [snapshotOf(report.skills), describe(report, context)];
  const { generatedAt: _, ...former } = Object(entry?.["systemPromptReport"]) as Readonly<Record<string, unknown>>;
  return {
    ...(!isDeepStrictEqual(entry?.["skillsSnapshot"], skillsSnapshot) && { skillsSnapshot }),
    ...(!isDeepStrictEqual(former, described) && { systemPromptReport: { ...described, generatedAt: now } }),
  };
}

function snapshotOf(skills: PromptSkills | undefined) {
  const entries = skills?.skills.map(({ name, primaryEnv, requiredEnv }) => ({
    name,
    ...(primaryEnv !== undefined && { primaryEnv }),
    ...(requiredEnv !== undefined && { requiredEnv: [...requiredEnv] }),
  }));
  return skills && { prompt: skills.prompt, skills: entries };
}

function describe(
  { system, workspace, directory, tools, skills }: PromptReport,
  { entry, sessionKey, model, limits: { bootstrapMaxChars, bootstrapTotalMaxChars } }: ReportContext,
) {
  const entries = tools.offer(model, false).tools.map(({ name, description, parameters }) => ({
    name,
    summaryChars: description.length,
    ...sizeOf(Object(parameters)),
  }));
  const projectContextChars = workspace.text.length;
  return {
    source: "run",
    ...(entry && { sessionId: entry.sessionId }),
    sessionKey,
    provider: model.provider,
    model: model.id,
    workspaceDir: directory,
    bootstrapMaxChars,
    bootstrapTotalMaxChars,
    systemPrompt: {
      chars: system.length,
      projectContextChars,
      nonProjectContextChars: system.length - projectContextChars,
    },
    injectedWorkspaceFiles: workspace.files.map((file) => ({
      ...file,
      path: join(directory, file.name),
      missing: false,
    })),
    skills: {
      promptChars: skills?.prompt.length ?? 0,
      entries: (skills?.skills ?? []).map(({ name, chars }) => ({ name, blockChars: chars })),
    },
    tools: {
      listChars: entries.reduce((sum, { name, summaryChars }) => sum + name.length + summaryChars, 0),
      schemaChars: entries.reduce((sum, { schemaChars }) => sum + schemaChars, 0),
      entries,
    },
  };
}

interface SchemaSize {
  readonly schemaChars: number;
  readonly propertiesCount: number;
}

/** By schema: a tool keeps its own from run to run. */
const sizes = new WeakMap<object, SchemaSize>();

function sizeOf(schema: object): SchemaSize {
  const known = sizes.get(schema);
  if (known) return known;
  const { properties } = schema as { readonly properties?: unknown };
  const size = { schemaChars: JSON.stringify(schema).length, propertiesCount: Object.keys(Object(properties)).length };
  sizes.set(schema, size);
  return size;
}
