/** Configuration section `approvals`. Spec: http/config-keys.md `approvals`; `approvers` is a choice. */
import { type ConfigView, type ConfigWarning, type Static, Strict, Type } from "@svc/sdk";

const texts = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description, reload: "hot" }));

/** Requests in chats. Choice: `approvers`; nobody in a chat decides who is not listed there. */
const Forwarding = Strict(
  {
    enabled: Type.Optional(Type.Boolean({ description: "show requests in chats; default false", reload: "hot" })),
    mode: Type.Optional(
      Type.Enum(["session", "targets", "both"], {
        description: "where: in the chat of the session that asks, in `targets`, or both; default session",
        reload: "hot",
      }),
    ),
    agentFilter: texts("ids of agents whose requests are shown; default: all"),
    sessionFilter: texts("parts of session keys whose requests are shown; default: all"),
    targets: Type.Optional(
      Type.Array(
        Strict({
          channel: Type.String({ minLength: 1, description: "channel id" }),
          to: Type.String({ minLength: 1, description: "recipient in the notation of the channel" }),
          accountId: Type.Optional(Type.String({ description: "account of the channel" })),
          threadId: Type.Optional(Type.Union([Type.String(), Type.Number()], { description: "thread to write in" })),
        }),
        { description: "chats that get requests", reload: "hot" },
      ),
    ),
    approvers: texts(
      "people who may decide in chats: `<channel>:<sender id>` on the default account of the channel, e.g. `telegram:100200300`; `<channel>/<account id>:<sender id>` on another one; default: nobody",
    ),
  },
  { description: "Requests in chats, with buttons, or `/approve <id> allow-once|allow-always|deny`." },
);
export type Forwarding = Static<typeof Forwarding>;

export const ApprovalsConfig = Type.Object(
  {
    approvers: Type.Optional(
      Type.Array(Type.String(), {
        title: "Approvers",
        description:
          "Who may decide: ids of devices, or of principals (token, password, local, trusted-proxy:<user>). Absent: every operator with the scope approvals. Empty: nobody.",
        reload: "hot",
      }),
    ),
    exec: Type.Optional(Forwarding),
    plugin: Type.Optional(Forwarding),
  },
  { title: "Approvals", order: 90 },
);
export type ApprovalsConfig = Static<typeof ApprovalsConfig>;

/** Finds requests that are shown in chats where nobody may decide them. Pure. */
export function withoutApprovers({ config }: ConfigView): ConfigWarning[] {
  const { approvals = {} } = config as { approvals?: ApprovalsConfig }; // the schema was checked
  return (["exec", "plugin"] as const)
    .filter((key) => approvals[key]?.enabled === true && (approvals[key].approvers ?? []).length === 0)
    .map((key) => ({
      path: `approvals.${key}.approvers`,
      message:
        "requests are shown in chats, and nobody may decide there; next: list the ids of people, which /whoami shows in a chat, e.g. telegram:100200300",
    }));
}
