/** The configuration section `wizard`: notes of the last setup. Spec: http/config-keys.md `wizard.*`. */
import { Strict, Type } from "@svc/sdk";

const note = (description: string) => Type.Optional(Type.String({ description, maxLength: 200 }));

export const WizardSettings = Strict(
  {
    lastRunAt: note("When the guided setup last ended, as an ISO 8601 time. Written by the setup"),
    lastRunVersion: note("Version of the gateway at that time. Written by the setup"),
    lastRunCommit: note("Commit of the checkout the gateway ran from; absent for a package. Written by the setup"),
    lastRunCommand: note("Command that ran the setup. Written by the setup"),
    lastRunMode: Type.Optional(
      Type.Enum(["local", "remote"], {
        description: "Mode of that setup; this gateway writes only local. Written by the setup",
      }),
    ),
  },
  {
    title: "Wizard",
    description: "Notes of the guided setup about itself; they have no other effect",
    reload: "hot",
    order: 20,
  },
);
