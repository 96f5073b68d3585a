#include <fmt/format.h>

#include <memory>
#include <string>

#include "comm/keys.h"
#include "tools/commands.h"

namespace tandem::tools {

void add_keygen(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("keygen", "make a CURVE key pair, for runs over networks that are not trusted");
  auto file = std::make_shared<std::string>();
  command
      ->add_option("FILE", *file,
                   "where the secret key is written, for its owner's eyes only; the public key goes to FILE.pub")
      ->required();
  command->callback([file, &chosen] {
    chosen = [file] {
      const comm::KeyPair pair = comm::make_key_pair();
      comm::write_key_pair(pair, *file);
      fmt::print("secret key  {}\npublic key  {}\n{}\n", *file, comm::public_file_of(*file).string(), pair.public_key);
      return exit_done;
    };
  });
}

}  // namespace tandem::tools
