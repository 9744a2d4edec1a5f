/** Security checks of the places that secrets come from. Pure. */
import { configAt, defineSecurityChecks, entriesOf, unsetCommand } from "@svc/sdk/cli";

export default defineSecurityChecks([
  {
    id: "secrets.any-program",
    severity: "warning",
    why: "Who can replace the program gets what it prints, and decides which secrets the gateway uses.",
    find: ({ config }) =>
      entriesOf(configAt(config, "secrets.providers"))
        .filter(([, { allowInsecurePath }]) => allowInsecurePath === true)
        .map(([name]) => ({
          about: `secrets.providers.${name}.allowInsecurePath`,
          message: `The program of provider ${name} may belong to others, and others may write it.`,
          mend: unsetCommand(["secrets", "providers", name, "allowInsecurePath"]),
        })),
  },
]);
