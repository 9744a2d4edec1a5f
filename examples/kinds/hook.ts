import { definePlugin } from "@svc/sdk";

export default definePlugin({
  id: "no-night-shift",
  api: "^1.0.0",
  setup(gateway) {
    gateway.hooks.runBefore.tap(({ sessionKey }) => {
      const hour = new Date(gateway.clock.now()).getHours();
      if (hour >= 6) return undefined; // no opinion
      return { allow: false, reason: `${sessionKey} may not run before 6 o'clock` };
    });
  },
});
