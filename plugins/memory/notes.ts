/** Handlers of `memory.files`, `memory.read` and `memory.write`: the notes themselves, for people. */
import type { Stats } from "node:fs";
import { mkdir } from "node:fs/promises";
import { baseOf, contentHash, diskRefusal, readWithin, writeWithin } from "@svc/kit/files";
import { type Handlers, invalidRequest, notFound } from "@svc/sdk";
import type { AgentDirectory, IdentityFiles } from "@svc/sdk/agents";
import type { memory } from "@svc/sdk/memory";
import { type AgentIndexes, WHERE } from "./agent-indexes.ts";
import { findFiles } from "./files/memory-files.ts";
import type { OriginOf } from "./tools.ts";

export interface NoteSources {
  readonly indexes: Pick<AgentIndexes, "locate" | "settings">;
  readonly agents: () => Pick<AgentDirectory, "list"> | undefined;
  /** Stores versions of `MEMORY.md`, which is one of the files of the prompt. */
  readonly identityFiles: () => IdentityFiles | undefined;
  readonly originOf: OriginOf;
  /** Id of the agent that a caller means. @throws GatewayError `NOT_FOUND` */
  readonly meant: (agentId: string | undefined) => string;
}

export function createNoteHandlers(sources: NoteSources): Pick<Handlers<typeof memory>, "files" | "read" | "write"> {
  const { indexes, agents, identityFiles, originOf, meant } = sources;

  function workspaceOf(agentId: string): string {
    return (
      agents()
        ?.list()
        .find(({ id }) => id === agentId)?.workspace ?? notFound(`there is no agent "${agentId}"`)
    );
  }

  return {
    async files({ params, signal }) {
      const agentId = meant(params.agentId);
      const workspace = workspaceOf(agentId);
      const { extraPaths } = indexes.settings(agentId);
      const { files, leftOut } = await findFiles({ workspace, extraPaths }, signal);
      const notes = files.map(({ path, stats }) => noteOf(path, stats));
      return { agentId, workspace, files: notes, leftOut: [...leftOut] };
    },

    async read({ params: { agentId: given, path } }) {
      const agentId = meant(given);
      const { root, name } = indexes.locate(agentId, path);
      const file = await readWithin(root, name);
      if (!file) notFound(`there is no memory file ${path}; memory.files lists them`);
      const { bytes, stats } = file;
      const outside = (await originOf(agentId, [name])) !== undefined;
      return { agentId, ...noteOf(path, stats), content: bytes.toString("utf8"), hash: contentHash(bytes), outside };
    },

    async write({ params: { agentId: given, path, content, baseHash }, principal }) {
      const agentId = meant(given);
      const { root, name } = indexes.locate(agentId, path);
      if (path !== name) invalidRequest(`${path} is a file of extraPaths; here only ${WHERE} are written`);
      const write = async () => {
        try {
          const expected = baseHash === undefined ? undefined : await baseOf(root, name, baseHash);
          await mkdir(root, { recursive: true, mode: 0o700 });
          return await writeWithin(root, name, content, { mode: "kept", ...(expected && { expected }) });
        } catch (error) {
          throw diskRefusal(error, path, { permissions: "UNAVAILABLE" }) ?? error;
        }
      };
      const change = { agentId, paths: [name], how: "memory.write", principal };
      const stats = await (identityFiles()?.change(change, write) ?? write());
      return { ok: true, agentId, ...noteOf(path, stats), hash: contentHash(content) };
    },
  };
}

function noteOf(path: string, { size, mtimeMs }: Stats) {
  return { path, size, updatedAtMs: Math.floor(mtimeMs), writable: !path.startsWith("/") };
}
