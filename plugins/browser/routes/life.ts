/** Routes of the browser itself and of its profiles. */
import { Type } from "@svc/sdk";
import { ProfileName } from "../config.ts";
import { browserOf, profileOf, route } from "./route.ts";

export const lifeRoutes = [
  route("GET", "/", {}, (input, context) => context.browsers.facts(profileOf(input, context))),
  route("GET", "/profiles", {}, async (_, { browsers }) => ({ profiles: await browsers.profiles() })),
  route("POST", "/start", {}, async (input, context) => {
    await browserOf(input, context);
    return context.browsers.facts(profileOf(input, context));
  }),
  route("POST", "/stop", {}, async (input, context) => {
    const profile = profileOf(input, context);
    return { ok: true, profile, stopped: await context.browsers.stop(profile) };
  }),
  route("POST", "/reset-profile", {}, async (input, context) => {
    const profile = profileOf(input, context);
    await context.browsers.reset(profile);
    return { ok: true, profile };
  }),
  route("POST", "/profiles/create", { name: ProfileName }, async ({ name }, { browsers }) => {
    await browsers.create(name);
    return { ok: true, profile: name };
  }),
  route("DELETE", "/profiles/:name", { name: Type.String() }, async ({ name }, { browsers }) => {
    await browsers.remove(name);
    return { ok: true, profile: name };
  }),
];
