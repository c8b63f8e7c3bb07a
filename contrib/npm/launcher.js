#!/usr/bin/env node
// Starts the program of the package for this platform, with the same arguments, standard streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const tty = require("node:tty");

const launcher = require("../package.json");
const scope = "@goblin-actor/";
const platform = `${process.platform}-${process.arch}`;
const reinstall = `reinstall with \`npm install --include=optional goblin-actor@${launcher.version}\``;

// fail prints an error and a hint in the form that the program uses.
function fail(error, hint) {
  console.error(`error: ${error}\nhint: ${hint}`);
  process.exitCode = 1;
}

// manifestOf returns the path of a package's package.json, or undefined if the package is not installed.
function manifestOf(name) {
  try {
    return require.resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

// missing reports that the platform's package is not installed.
function missing(supported) {
  const others = supported.filter((name) => manifestOf(scope + name));
  if (others.length === 0) {
    return fail(`the package ${scope}${platform} is not installed; npm omits it with --omit=optional or --no-optional`, reinstall);
  }
  return fail(
    `the installed program is for ${others.join(", ")}, but this Node.js runs on ${platform}`,
    `${reinstall} on this machine; do not copy node_modules from another one`,
  );
}

// findProgram returns the path of this platform's program, or undefined after it has reported why there is none.
function findProgram() {
  const supported = Object.keys(launcher.optionalDependencies).map((name) => name.slice(scope.length));
  if (!supported.includes(platform)) {
    return fail(`there is no package for ${platform}; supported are ${supported.join(", ")}`, "build the program from source, which needs Go");
  }
  const manifest = manifestOf(scope + platform);
  if (!manifest) return missing(supported);
  const { version, programBytes } = require(manifest);
  if (version !== launcher.version) {
    return fail(`the package ${scope}${platform} has version ${version}, but goblin-actor has version ${launcher.version}`, reinstall);
  }
  const program = path.join(path.dirname(manifest), "bin", process.platform === "win32" ? "goblin-actor.exe" : "goblin-actor");
  // The size is checked because execvp passes a damaged program to the shell.
  const { size } = fs.statSync(program, { throwIfNoEntry: false }) ?? { size: 0 };
  if (size !== programBytes) {
    return fail(`the package ${scope}${platform} is incomplete: ${program} has ${size} of ${programBytes} bytes`, reinstall);
  }
  return program;
}

// onSignals calls forward for each signal that the program must still get. A terminal sends SIGINT and SIGHUP to all of its
// processes, so the program already has them; a second SIGINT would end it without waiting for running calls. On Windows,
// the console notifies the program, and kill would end it at once.
function onSignals(forward) {
  const terminal = [0, 1, 2].some((fd) => tty.isatty(fd));
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"]) {
    const delivered = process.platform === "win32" || (terminal && signal !== "SIGTERM");
    process.on(signal, () => delivered || forward(signal));
  }
}

// onOrphaned calls end once when the parent process has ended. npx starts the launcher through a shell, which ends on SIGTERM
// without passing the signal on.
function onOrphaned(end) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, 500);
  timer.unref();
}

function run(program) {
  const unusable = (error) => fail(`cannot start ${program}: ${error.code}; the file is not executable or not for this machine`, reinstall);
  // The program's hints start with this name, so that users can copy them.
  const npx = process.env.npm_command === "exec";
  const argv0 = npx ? "npx goblin-actor" : "goblin-actor";
  let child;
  onSignals((signal) => child.kill(signal)); // registered before the start, so that a signal during the start is handled after it
  try {
    child = spawn(program, process.argv.slice(2), { argv0, stdio: "inherit" });
  } catch (error) {
    unusable(error);
    return;
  }
  child.on("error", unusable);
  if (npx) onOrphaned(() => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exitCode = code;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const program = findProgram();
if (program) run(program);
