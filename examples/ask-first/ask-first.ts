/** Asks a person before an agent uses certain tools: in `svc chat`, in the panel, or in `svc approvals watch`. */
import { definePlugin, Type } from "@svc/sdk";

const Config = Type.Object({
  tools: Type.Array(Type.String({ minLength: 1 }), {
    default: ["sessions_spawn"],
    description: "Tools that run only after a person has approved the call",
  }),
});

export default definePlugin({
  id: "ask-first",
  api: "^1.0.0",
  config: Config,
  setup(gateway) {
    for (const tool of gateway.config.tools)
      gateway.hooks.toolBefore.for(tool).tap(({ name, arguments: wanted, agentId, sessionKey }) => ({
        allow: "ask",
        title: `${name} ${JSON.stringify(wanted)}`, // what people see
        subject: { name, wanted, agentId }, // "allow always" covers exactly this
        agentId,
        sessionKey,
      }));
  },
});
