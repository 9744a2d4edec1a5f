/** Sections `tools.exec` and `tools.fs`. Spec: http/config-keys.md; defaults and bounds are choices. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SANDBOX_KEYS } from "@svc/sdk/tools";

/** Maximum timeout of a call, in seconds. */
export const MAX_TIMEOUT_SECONDS = 24 * 3_600;

export const ExecConfig = Strict(
  {
    host: Type.Optional(
      Type.Enum(["gateway"], {
        description: "Where commands run: only on the gateway's machine. Default gateway.",
        reload: "hot",
      }),
    ),
    security: Type.Optional(
      Type.Enum(["deny", "allowlist", "full"], {
        description:
          "Upper limit of the commands that may run: none, those on the allowlist of the policy file, or all. Only narrows what the policy file allows. Absent: only the policy file decides.",
        reload: "hot",
      }),
    ),
    ask: Type.Optional(
      Type.Enum(["off", "on-miss", "always"], {
        description:
          "When people are asked: never, when the allowlist does not allow the command, or each time. Applies in addition to the policy file; a command runs only if both allow it. Absent: only the policy file decides.",
        reload: "hot",
      }),
    ),
    timeoutSec: Type.Integer({
      default: 600,
      minimum: 1,
      maximum: MAX_TIMEOUT_SECONDS,
      description: "Timeout in seconds of a foreground command whose call sets none.",
      reload: "hot",
    }),
    cleanupMs: Type.Integer({
      default: 1_800_000,
      minimum: 1_000,
      description: "Milliseconds for which the output of a background command is kept after its end.",
      reload: "hot",
    }),
    pathPrepend: Type.Array(Type.String({ pattern: "^/[^:\\x00]*$" }), {
      default: [],
      description: "Absolute directories that are searched for programs before those of PATH.",
      reload: "hot",
    }),
    sandbox: Type.Optional(
      Strict(SANDBOX_KEYS, {
        description: "Sandbox of commands; agents.list[].tools.exec.sandbox overrides it key by key.",
        reload: "hot",
      }),
    ),
  },
  { title: "Commands", description: "Commands agents run on this machine", order: 91 },
);
export type ExecConfig = Static<typeof ExecConfig>;

export const FsConfig = Strict(
  {
    workspaceOnly: Type.Optional(
      Type.Literal(true, {
        description: "Only true: the file tools of agents never leave the workspace.",
        reload: "hot",
      }),
    ),
  },
  { title: "Files", description: "Files agents read and write" },
);
