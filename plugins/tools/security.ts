/** Security checks of what tools may do, and who may call them. Pure. */
import { configAt, defineSecurityChecks, setCommand, textsOf, unsetCommand } from "@svc/sdk/cli";
import { HTTP_DENY } from "./steps.ts";

export default defineSecurityChecks([
  {
    id: "tools.from-outside",
    severity: "critical",
    why: "A mail, a web page or a stranger in a chat makes the agent send, run and change what you could.",
    find: ({ config }) =>
      configAt(config, "tools.fromOutside") === "allow"
        ? [
            {
              about: "tools.fromOutside",
              message: "A call that words of somebody else led to is carried out, and nobody is asked.",
              mend: unsetCommand(["tools", "fromOutside"]),
            },
          ]
        : [],
  },
  {
    id: "tools.http-dangerous",
    severity: "warning",
    why: "One request over HTTP changes the gateway, or speaks in another conversation.",
    find: ({ config }) => {
      const allowed = textsOf(configAt(config, "gateway.tools.allow"));
      const dangerous = allowed.filter((name) => HTTP_DENY.includes(name));
      if (dangerous.length === 0) return [];
      const rest = allowed.filter((name) => !HTTP_DENY.includes(name));
      return [
        {
          about: "gateway.tools.allow",
          message: `/tools/invoke may call ${dangerous.join(", ")}, which it denies by itself.`,
          mend: setCommand(["gateway", "tools", "allow"], rest),
        },
      ];
    },
  },
]);
