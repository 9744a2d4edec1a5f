/** A gateway embedded in a program, configured only by the environment and the state directory named there. */
import { createGateway } from "@svc/host";
import { announce } from "./control.ts";

const gateway = await createGateway({ port: 0, logLevel: "warn" });
const broken = gateway.plugins().filter(({ state }) => state !== "active");
for (const { id, state, reason } of broken) process.stderr.write(`plugin ${id} is ${state}: ${reason ?? "?"}\n`);
if (broken.length > 0) process.exit(1);
announce(gateway.url, () => gateway.stop());
