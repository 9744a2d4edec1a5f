/** The part of the prompt that comes from an agent's workspace. */
import { readWithin, statWithin } from "@svc/kit/files";
import type { Clock, Logger } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { ConfiguredAgents } from "./directory.ts";
import { prepareWorkspace } from "./workspace-seed.ts";

/**
 * In the order of the prompt. Of the two memory files, the first non-empty one is used: while a command runs in a sandbox,
 * an empty placeholder stands in for a missing file.
 * Choice: `BOOTSTRAP.md` is included while it exists, since it would have no effect otherwise.
 */
const PROMPT_FILES = [
  ["AGENTS.md"],
  ["SOUL.md"],
  ["TOOLS.md"],
  ["IDENTITY.md"],
  ["USER.md"],
  ["BOOTSTRAP.md"],
  ["MEMORY.md", "memory.md"],
];

/** Maximum number of UTF-8 bytes that one character (UTF-16 unit) takes. */
const BYTES_PER_CHAR = 3;

interface CachedFile {
  readonly version: string;
  readonly text: string;
  readonly isCut: boolean;
}

/** Limits of the prompt in characters (UTF-16 units): of one file, and of all files without headings. */
export interface PromptLimits {
  readonly bootstrapMaxChars: number;
  readonly bootstrapTotalMaxChars: number;
}

/** A file in the prompt. */
export interface PromptFile {
  readonly name: string;
  readonly rawChars: number;
  /** Characters of it in the prompt. */
  readonly injectedChars: number;
  readonly truncated: boolean;
}

/** The prompt of a workspace. */
export interface WorkspacePrompt {
  /** Empty: there are no files. */
  readonly text: string;
  readonly files: readonly PromptFile[];
  /** For each file: its content in the prompt, with the mark where it was cut, without its heading. */
  readonly parts: readonly string[];
}

/**
 * Joins headings, contents and marks where a text was cut. Blank files are left out.
 * @param files in order
 */
export function composePrompt(
  files: readonly { readonly name: string; readonly text: string; readonly isCut: boolean }[],
  { bootstrapMaxChars, bootstrapTotalMaxChars }: PromptLimits,
): WorkspacePrompt {
  let left = bootstrapTotalMaxChars;
  const parts: string[] = [];
  const headed: string[] = [];
  const facts: PromptFile[] = [];
  for (const { name, text, isCut } of files) {
    const whole = text.trim();
    if (whole === "") continue;
    const kept = cut(whole, Math.min(bootstrapMaxChars, left), "");
    left -= kept.length;
    const isShort = isCut || kept.length < whole.length;
    const mark = kept === "" ? `[${name} is left out: the prompt is full]` : `[... ${name} is cut here]`;
    facts.push({ name, rawChars: text.length, injectedChars: kept.length, truncated: isShort });
    const part = [kept, ...(isShort ? [mark] : [])].filter(Boolean).join("\n");
    parts.push(part);
    headed.push(`## ${name}\n\n${part}`);
  }
  const text = headed.length === 0 ? "" : ["# Files of your workspace", ...headed].join("\n\n");
  return { text, files: facts, parts };
}

/**
 * Builds the prompt of an agent's workspace, which is created with its first files if it does not exist. Files are read
 * again only when they changed. A file that cannot be read is logged and left out: the run does not fail.
 */
export function createWorkspacePrompt(agents: ConfiguredAgents, log: Pick<Logger, "warn">) {
  const cache = new Map<string, CachedFile>();

  async function read(workspace: string, name: string, maxChars: number): Promise<CachedFile | undefined> {
    const key = `${workspace}\0${name}`;
    try {
      const stats = await statWithin(workspace, name);
      if (!stats) return void cache.delete(key);
      const version = [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs, maxChars].join(":");
      const known = cache.get(key);
      if (known?.version === version) return known;
      const file = await readWithin(workspace, name, maxChars * BYTES_PER_CHAR);
      if (!file) return void cache.delete(key);
      const fresh = { version, text: file.bytes.toString("utf8"), isCut: file.isCut };
      cache.set(key, fresh);
      return fresh;
    } catch (error) {
      cache.delete(key);
      log.warn(
        { err: error, workspace, file: name },
        "a workspace file could not be read and is left out of the prompt",
      );
      return undefined;
    }
  }

  /** @param isPreview creates no workspace */
  return async function workspacePrompt(agentId: string, isPreview = false): Promise<WorkspacePrompt> {
    const { workspace } = agents.settings(agentId);
    const { defaults } = agents.config;
    if (agents.has(agentId) && !isPreview) {
      await prepareWorkspace(workspace, defaults).catch((error: unknown) => {
        log.warn({ err: error, workspace }, "the workspace could not be created; the run continues without it");
      });
    }
    const files = await Promise.all(
      PROMPT_FILES.map(async (names) => {
        for (const name of names) {
          const file = await read(workspace, name, defaults.bootstrapMaxChars);
          if (file && file.text.trim() !== "") return [{ name, ...file }];
        }
        return [];
      }),
    );
    return composePrompt(files.flat(), defaults);
  };
}

/** Choice: milliseconds a prompt is shared; runs see a manual edit after at most this time. */
const FRESH_MS = 1_000;

export interface SharedPrompt<T> {
  of(agentId: string): Promise<T>;
  /** To be called after files or agents changed: the next run reads the files again. */
  forget(): void;
}

/** Shares one read of an agent's workspace among runs that start within one second. @param read reads the files */
export function sharePrompts<T>(read: (agentId: string) => Promise<T>, clock: Pick<Clock, "elapsed">): SharedPrompt<T> {
  const prompts = new Map<string, { readonly at: number; readonly prompt: Promise<T> }>();
  return {
    of(agentId) {
      const known = prompts.get(agentId);
      const now = clock.elapsed();
      if (known && now - known.at < FRESH_MS) return known.prompt;
      const shared = { at: now, prompt: read(agentId) };
      prompts.set(agentId, shared);
      // After a failure, the next run reads again; the caller of `of` gets the error.
      shared.prompt.catch(() => prompts.get(agentId) === shared && prompts.delete(agentId));
      return shared.prompt;
    },
    forget: () => prompts.clear(),
  };
}
