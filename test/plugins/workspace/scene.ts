/** The tools of the plugin on real directories, for two agents, with approvers controlled by the test. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createSandbox, type SandboxSearch } from "@svc/kit/exec";
import { type Logger, withDefaults } from "@svc/sdk";
import type { IdentityFiles } from "@svc/sdk/agents";
import type { AllowedProgram, ExecPolicyFile } from "@svc/sdk/approvals";
import type { ApprovalAnswer, ApprovalQuestion } from "@svc/sdk/gateway";
import { textOf } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { OutsideWords, SandboxSettings, Tool, ToolResult } from "@svc/sdk/tools";
import { questionDigest } from "../../../plugins/approvals/canonical.ts";
import { ExecConfig } from "../../../plugins/workspace/config.ts";
import { privateCopies } from "../../../plugins/workspace/exec/copies.ts";
import { FileHolds } from "../../../plugins/workspace/files/file-holds.ts";
import { execTool } from "../../../plugins/workspace/exec/tool.ts";
import { editTool, writeTool } from "../../../plugins/workspace/files/change.ts";
import { readTool } from "../../../plugins/workspace/files/read.ts";
import { OriginRecord } from "../../../plugins/workspace/origins/record.ts";
import { createVersionKeeper } from "../../../plugins/workspace/files/versions.ts";
import { patchTool } from "../../../plugins/workspace/patch/tool.ts";
import { BackgroundCommands } from "../../../plugins/workspace/process/background.ts";
import { Programs } from "../../../plugins/workspace/process/programs.ts";
import { processTool } from "../../../plugins/workspace/process/tool.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { agentSandbox } from "../../../plugins/workspace/sandbox/agent-sandbox.ts";
import { principal } from "../agents/script.ts";
import { silentLog } from "../agents/silent-log.ts";

export const FULL: ExecPolicyFile = { version: 1, defaults: { security: "full", ask: "off" } };
/** Asks about every command, or about unlisted ones. */
export const ASK_ALL: ExecPolicyFile = { version: 1, defaults: { security: "full", ask: "always" } };
export const listed = (ask: string, ...allowlist: AllowedProgram[]): ExecPolicyFile => ({
  version: 1,
  agents: { main: { security: "allowlist", ask, allowlist } },
});
export const MAIN = "agent:main:main";

/** An approver that remembers `allow-always` as the plugin `approvals` does; `meanwhile` runs while the first question is pending. */
export function person(decision: ApprovalAnswer["decision"] = "allow-once") {
  const [questions, always] = [[] as ApprovalQuestion[], new Set<string>()];
  const hands = { meanwhile: (): unknown => undefined };
  const ask = async (question: ApprovalQuestion): Promise<ApprovalAnswer> => {
    const digest = questionDigest(question.kind, question.subject);
    if (always.has(digest)) return { id: "q", decision: "allow-always" };
    questions.push(question);
    if (decision === "allow-always") always.add(digest);
    const { meanwhile } = hands;
    hands.meanwhile = () => undefined;
    await meanwhile();
    return { id: "q", decision, ...(decision === "deny" && { reason: "Ada denied it" }) };
  };
  return { ask, questions, hands };
}

export interface SceneOptions {
  readonly policy?: ExecPolicyFile;
  /** Section `tools.exec`. */
  readonly exec?: object;
  /** `undefined`: no approver. */
  readonly ask?: (question: ApprovalQuestion) => Promise<ApprovalAnswer>;
  readonly env?: Record<string, string>;
  /** Settings of sessions, by key. */
  readonly sessions?: Readonly<Record<string, object>>;
  /** Default: commands run in no sandbox. */
  readonly sandboxed?: (agentId: string) => boolean;
  /** Default: no versions are stored. */
  readonly identityFiles?: IdentityFiles;
  /** `agents.list[].tools.exec.sandbox` by agent. */
  readonly sandboxes?: Readonly<Record<string, SandboxSettings>>;
  /** Default: the sandbox of this machine. */
  readonly find?: () => Promise<SandboxSearch>;
  readonly log?: Logger;
  /** Where the workspace of `main` lies, below the temporary directory. */
  readonly workspace?: string;
}

/** Who calls a tool. Default: the main session of `main`. */
interface Caller {
  readonly agentId?: string;
  readonly sessionKey?: string;
  readonly signal?: AbortSignal;
  readonly outside?: OutsideWords;
  readonly because?: string;
}

const realClock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimeout(callback: () => void, ms: number) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export async function openScene(t: TestContext, options: SceneOptions = {}) {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "svc-workspace-")));
  const root = join(directory, options.workspace ?? "state/workspace");
  const [stateDir, other] = [join(directory, "state"), join(root, "..", "workspace-other")];
  for (const path of [stateDir, root, other]) await mkdir(path, { recursive: true });
  const state = {
    policy: options.policy ?? FULL,
    config: withDefaults(ExecConfig, options.exec ?? {}) as ExecConfig,
    sessions: { ...options.sessions } as Readonly<Record<string, object>>,
    keepsSessions: true,
  };
  const programs = new Programs();
  const background = new BackgroundCommands(programs, realClock, () => undefined);
  const agents = [
    { id: "main", isDefault: true, workspace: root },
    { id: "other", isDefault: false, workspace: other },
  ];
  const where = { agents: { list: () => agents }, stateDir: () => stateDir };
  const { storage, close } = await openStorage({ file: join(directory, "svc.db") });
  const record = new OriginRecord({ ...where, storage, clock: realClock });
  await record.open();
  const places = { ...where, record };
  const home = join(directory, "home");
  await mkdir(home);
  const sandbox = agentSandbox({
    agents: {
      ...places.agents,
      toolPolicy: (id) => ({ exec: { sandbox: options.sandboxes?.[id] ?? {} } }),
    },
    stateDir: places.stateDir,
    sandbox: createSandbox({
      clock: realClock,
      log: options.log ?? silentLog,
      ...(options.find && { find: options.find }),
    }),
    config: () => state.config,
    hidden: () => [],
    home,
    log: options.log ?? silentLog,
  });
  const { ask, identityFiles } = options;
  const keepVersions = createVersionKeeper(() => identityFiles);
  const holds = new FileHolds(realClock);
  const writing = { ...places, beforeWrite: sandbox.endCommands, keepVersions, holds };
  const exec = execTool({
    ...places,
    policy: () => Promise.resolve(state.policy),
    limits: () => state.config,
    config: () => state.config,
    approver: () => ask && { ask },
    sessions: () =>
      state.keepsSessions
        ? { canonicalKey: (key) => key, get: async (key) => state.sessions[key] as SessionEntry | undefined }
        : undefined,
    ...(options.sandboxed && { sandboxed: options.sandboxed }),
    programs,
    background,
    copies: privateCopies(() => stateDir),
    holds,
    sandbox,
    clock: realClock,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...options.env },
  });
  const tools: Readonly<Record<string, Tool>> = {
    read: readTool(places),
    write: writeTool(writing),
    edit: editTool(writing),
    apply_patch: patchTool(writing, silentLog),
    exec,
    process: processTool({ background, clock: realClock }),
  };
  t.after(async () => {
    await programs.stop();
    await close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Runs a tool as a session would. */
  async function use(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { agentId = "main", sessionKey, signal = new AbortController().signal, ...told }: Caller = {},
  ): Promise<ToolResult> {
    const tool = tools[name];
    if (!tool) throw new Error(`no tool ${name}`);
    const call = {
      name,
      toolCallId: "c1",
      arguments: args,
      runId: "r1",
      sessionKey: sessionKey ?? `agent:${agentId}:main`,
      agentId,
    };
    const result = await tool.run(withDefaults(tool.params, args), { call, principal, signal, ...told });
    return typeof result === "string" ? { content: [{ type: "text", text: result }] } : result;
  }
  /** Text for the model. */
  const say = async (...call: Parameters<typeof use>) => textOf(await use(...call));
  /** Its value for programs. */
  const details = async (...call: Parameters<typeof use>) => (await use(...call)).details as Record<string, unknown>; // every tool of this plugin has them
  return {
    directory,
    root,
    stateDir,
    other,
    home,
    state,
    sandbox,
    programs,
    background,
    tools,
    use,
    say,
    details,
    record,
    storage,
  };
}
