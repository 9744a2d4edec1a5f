/** Security checks of the tool policy. Pure. */
import { configAt, defineSecurityChecks, setCommand, textsOf, unsetCommand } from "@svc/sdk/cli";
import { HTTP_DENY } from "./steps.ts";

export default defineSecurityChecks([
  {
    id: "tools.from-outside",
    severity: "critical",
    why: "A mail, a web page or an unknown sender can make the agent send, run and change anything you could.",
    find: ({ config }) =>
      configAt(config, "tools.fromOutside") === "allow"
        ? [
            {
              about: "tools.fromOutside",
              message: "Calls caused by external content run without approval.",
              fix: unsetCommand(["tools", "fromOutside"]),
            },
          ]
        : [],
  },
  {
    id: "tools.http-dangerous",
    severity: "warning",
    why: "A single HTTP request can change the gateway or write into another conversation.",
    find: ({ config }) => {
      const allowed = textsOf(configAt(config, "gateway.tools.allow"));
      const dangerous = allowed.filter((name) => HTTP_DENY.includes(name));
      if (dangerous.length === 0) return [];
      const rest = allowed.filter((name) => !HTTP_DENY.includes(name));
      return [
        {
          about: "gateway.tools.allow",
          message: `/tools/invoke may call ${dangerous.join(", ")}, which it denies by default.`,
          fix: setCommand(["gateway", "tools", "allow"], rest),
        },
      ];
    },
  },
]);
