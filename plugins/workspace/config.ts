/** Sections `tools.exec` and `tools.fs`. Spec: http/config-keys.md; defaults and bounds are choices. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SANDBOX_KEYS } from "@svc/sdk/tools";

/** Seconds a single call may ask for. */
export const MAX_TIMEOUT_SECONDS = 24 * 3_600;

export const ExecConfig = Strict(
  {
    host: Type.Optional(
      Type.Enum(["gateway"], {
        description: "Where commands run; only on the machine of the gateway here. Default gateway.",
        reload: "hot",
      }),
    ),
    security: Type.Optional(
      Type.Enum(["deny", "allowlist", "full"], {
        description:
          "Which commands may run at most: none, those on the allowlist of the policy file, or all. Only narrows what the policy file allows. Absent: the policy file decides alone.",
        reload: "hot",
      }),
    ),
    ask: Type.Optional(
      Type.Enum(["off", "on-miss", "always"], {
        description:
          "When people are asked: never, where the allowlist does not say yes, or each time. Holds beside what the policy file says; a command runs where both let it. Absent: the policy file decides alone.",
        reload: "hot",
      }),
    ),
    timeoutSec: Type.Integer({
      default: 600,
      minimum: 1,
      maximum: MAX_TIMEOUT_SECONDS,
      description: "Seconds a command may run that is waited for, when its call does not say.",
      reload: "hot",
    }),
    cleanupMs: Type.Integer({
      default: 1_800_000,
      minimum: 1_000,
      description: "Milliseconds the output of a background command is kept after its end.",
      reload: "hot",
    }),
    pathPrepend: Type.Array(Type.String({ pattern: "^/[^:\\x00]*$" }), {
      default: [],
      description: "Directories, absolute, where programs are looked for before those of PATH.",
      reload: "hot",
    }),
    sandbox: Type.Optional(
      Strict(SANDBOX_KEYS, {
        description: "The sandbox of commands; agents.list[].tools.exec.sandbox overrides it key by key.",
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
