/** The commit of the checkout that this gateway runs from. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const COMMIT = /^[0-9a-f]{40,64}$/;

/** @returns `undefined` for an installed package, and if the repository cannot be read */
export async function commitOf(hostDirectory: string | undefined): Promise<string | undefined> {
  if (hostDirectory === undefined) return undefined;
  const git = join(dirname(hostDirectory), ".git");
  const head = await firstLine(join(git, "HEAD"));
  const ref = head?.startsWith("ref: ") ? head.slice("ref: ".length) : undefined;
  const commit = ref === undefined ? head : ((await firstLine(join(git, ref))) ?? (await packed(git, ref)));
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined;
}

async function firstLine(path: string): Promise<string | undefined> {
  return (await textOf(path))?.split("\n", 1)[0];
}

async function packed(git: string, ref: string): Promise<string | undefined> {
  const lines = (await textOf(join(git, "packed-refs")))?.split("\n") ?? [];
  return lines.find((line) => line.endsWith(` ${ref}`))?.split(" ", 1)[0];
}

function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined); // no checkout
}
