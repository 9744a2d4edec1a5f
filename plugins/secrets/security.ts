/** Security checks of secret providers. Pure. */
import { configAt, defineSecurityChecks, entriesOf, unsetCommand } from "@svc/sdk/cli";

export default defineSecurityChecks([
  {
    id: "secrets.any-program",
    severity: "warning",
    why: "Anyone who can replace the program gets its output, and decides which secrets the gateway uses.",
    find: ({ config }) =>
      entriesOf(configAt(config, "secrets.providers"))
        .filter(([, { allowInsecurePath }]) => allowInsecurePath === true)
        .map(([name]) => ({
          about: `secrets.providers.${name}.allowInsecurePath`,
          message: `The program of provider ${name} may be owned and writable by other users.`,
          fix: unsetCommand(["secrets", "providers", name, "allowInsecurePath"]),
        })),
  },
]);
