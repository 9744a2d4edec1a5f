/** Configuration section `approvals`. Spec: http/config-keys.md `approvals`; `approvers` is a choice. */
import { type Static, Strict, Type } from "@svc/sdk";

/** Choice: `true` is refused when it is written, since an operator who relies on it would notice the missing feature too late. */
const Forwarding = Strict(
  {
    enabled: Type.Optional(
      Type.Literal(false, {
        description:
          "Only false: no channel delivers questions yet; svc approvals list and the panel show pending ones.",
        reload: "hot",
      }),
    ),
  },
  { description: "Questions in chats; cannot be enabled yet, since no channel delivers them." },
);

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
  },
  { title: "Approvals", order: 90 },
);
export type ApprovalsConfig = Static<typeof ApprovalsConfig>;
