import { defineService, definePlugin } from "@svc/sdk";

export interface Greeter {
  greet(name: string): Promise<string>;
}
export const Greeter = defineService<Greeter>()("greeter", "1.0.0", { remotable: true });

export const provider = definePlugin({
  id: "greeter",
  api: "^1.0.0",
  provides: [Greeter],
  setup: (gateway) => gateway.provide(Greeter, { greet: (name) => Promise.resolve(`Hello, ${name}!`) }),
});
export const consumer = definePlugin({
  id: "doorman",
  api: "^1.0.0",
  requires: { greeter: Greeter }, // also optional(Greeter) and live(Greeter)
  setup(gateway) {
    gateway.start(async () => gateway.log.info({}, await gateway.services.greeter.greet("world")));
  },
});
