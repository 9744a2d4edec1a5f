/** A plugin whose errors, logs and crashes carry the secrets services that it uses; loaded by canaries.test.ts. */
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { SecretPlaces, Secrets } from "@svc/sdk/secrets";

const method = { summary: "Fails", scope: "operator.admin", params: Type.Object({}), result: Type.Unknown() } as const;

export const crash = defineContract("crash", { throws: method, strays: method, ends: method });

export default definePlugin({
  id: "crash",
  api: "^1.0.0",
  requires: { secrets: Secrets, places: SecretPlaces },
  setup(gateway) {
    const { services, log } = gateway;
    const failure = () => Object.assign(new Error("crashed on purpose"), { services: services.secrets, gateway });
    gateway.serve(crash, {
      throws: () => {
        log.debug({ secrets: services.secrets, err: failure() }, "about to throw");
        throw failure();
      },
      strays: () => {
        setImmediate(() => {
          throw failure();
        });
        return true;
      },
      ends: () => {
        process.removeAllListeners("uncaughtException");
        setImmediate(() => {
          throw failure();
        });
        return true;
      },
    });
  },
});
