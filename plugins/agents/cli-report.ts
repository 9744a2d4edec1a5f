/** What `svc agents ...` tells people. Pure. */
import type { agents, ResultOf } from "@svc/sdk";
import { oneLine } from "./directory/identity.ts";

type Listed = ResultOf<typeof agents.list>;
type Files = Pick<ResultOf<typeof agents.filesList>, "workspace" | "files">;
type Shown = ResultOf<typeof agents.identity>;
type Deleted = ResultOf<typeof agents.delete>;

/** One agent in a line: id, what it is called, and whether it is the default one. */
export function listLines({ agents: rows, defaultId }: Listed): readonly string[] {
  const width = Math.max(...rows.map(({ id }) => id.length));
  return rows.map(({ id, name, identity }) => {
    const words = [
      id.padEnd(width),
      identity?.emoji,
      name ?? identity?.name,
      id === defaultId ? "(default)" : undefined,
    ];
    return oneLineKeepingColumns(words);
  });
}

function oneLineKeepingColumns([first = "", ...rest]: readonly (string | undefined)[]): string {
  return [first, ...rest.flatMap((word) => (word === undefined ? [] : [oneLine(word)]))].join("  ").trimEnd();
}

export function identityLines({ agentId, name, avatar, emoji }: Shown): readonly string[] {
  return [
    `Agent: ${agentId}`,
    `Name: ${oneLine(name)}`,
    `Avatar: ${oneLine(avatar)}`,
    ...(emoji === undefined ? [] : [`Emoji: ${oneLine(emoji)}`]),
  ];
}

export function fileLines({ workspace, files }: Files): readonly string[] {
  const width = Math.max(...files.map(({ name }) => name.length));
  return [
    `Workspace: ${workspace}`,
    ...files.map(({ name, missing, size = 0 }) => `  ${name.padEnd(width)}  ${missing ? "missing" : `${size} bytes`}`),
  ];
}

export function agentLines(agent: Shown & Files): readonly string[] {
  return [...identityLines(agent), ...fileLines(agent)];
}

export function deletedLines({ agentId, removedBindings, trash, kept = [] }: Deleted): readonly string[] {
  return [
    `Agent ${agentId} was deleted`,
    ...(removedBindings > 0 ? [`Bindings removed with it: ${removedBindings}`] : []),
    ...(trash === undefined ? [] : [`Its files are in ${trash}`]),
    ...kept.map((line) => `Stays: ${oneLine(line)}`),
  ];
}
