#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "actors/run.h"
#include "config/job_reader.h"
#include "tools/commands.h"

void tandem::tools::leave(int status) {
  std::fflush(nullptr);
  _exit(status);
}

int main(int argc, char** argv) {
  using namespace tandem;
  CLI::App app("Tandem: distributed training of deep nets");
  app.set_version_flag("--version", std::string("tandem ") + TANDEM_VERSION);
  app.require_subcommand(1);
  tools::Action chosen;
  tools::add_train(app, chosen);
  tools::add_node(app, chosen);
  tools::add_check(app, chosen);
  tools::add_bench(app, chosen);
  tools::add_keygen(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tools::exit_done : tools::exit_usage;
  }
  try {
    return chosen();
  } catch (const actors::RunError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    if (error.stuck) tools::leave(tools::exit_failed);
    return tools::exit_failed;
  } catch (const config::JobError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return tools::exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return tools::exit_failed;
  }
}
