/** The workspaces of agents, shared by the gateways on one state: the service `Files`, and its namespace. */
import { defineContract } from "../contract.ts";
import { type Static, Strict, Type } from "../schema.ts";
import { defineService } from "../service.ts";

/** Each function resolves at once if workspaces are not shared, and after 5 s at the latest; what is left then follows in the background. Never rejects. */
export interface Files {
  /** Brings the workspace of an agent up to date with what other gateways have stored. To be called before it is read. @returns whether files changed */
  pull(agentId: string): Promise<boolean>;
  /** Stores what has changed in the workspace, so that other gateways get it. To be called after a run, and after other changes. */
  push(agentId: string): Promise<void>;
  /** The agent is deleted: its files are no longer shared. */
  forget(agentId: string): Promise<void>;
}

/** Token of the service. */
export const Files = defineService<Files>()("files", "1.0.0", {
  summary:
    "Shares the workspaces of agents among the gateways on one state. Provided by the plugin `files`; used by the owner of agents.",
  remotable: true,
});

const Count = Type.Integer({ minimum: 0 });

/** A shared workspace, as this gateway sees it. */
export const SharedWorkspace = Type.Object({
  agentId: Type.String(),
  workspace: Type.String({ description: "directory at this gateway" }),
  files: Count,
  bytes: Count,
  syncedAt: Type.Optional(Type.Integer({ description: "epoch ms; absent: not yet since the start" })),
  error: Type.Optional(Type.String({ description: "why the last attempt failed" })),
  conflicts: Type.Integer({ minimum: 0, description: "files kept under another name since the start" }),
  skipped: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }), {
    description: "the first 20 files that are not shared",
  }),
});
export type SharedWorkspace = Static<typeof SharedWorkspace>;

/** Namespace of shared files. Choice: not part of the interface. */
export const files = defineContract("files", {
  status: {
    summary: "Get which workspaces are shared, and what is not",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      store: Type.Optional(
        Type.String({ description: "directory or address of the bucket; absent: nothing is shared" }),
      ),
      workspaces: Type.Array(SharedWorkspace),
    }),
  },
});
